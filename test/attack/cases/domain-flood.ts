import type { Attack, Target } from '../define-attack.ts'

const CLIENTS = 16
const LASTS_MS = 15_000
/** Nobody answers there (RFC 5737). */
const SILENT = '192.0.2.1:53'

/** One round: a domain is added, its key replaced, its DNS asked for, and it is deleted. Counts the answers by status. */
async function round({ url, unlimited }: Target, name: string, seen: Map<number, number>): Promise<void> {
  const headers = { authorization: `Bearer ${unlimited.secret}`, 'content-type': 'application/json' }
  const ask = async (method: string, path: string, body?: object) => {
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const response = await fetch(`${url}${path}`, init)
    seen.set(response.status, (seen.get(response.status) ?? 0) + 1)
    return response.text()
  }
  const text = await ask('POST', '/domains', { domain: name })
  const { id }: { id?: string } = JSON.parse(text)
  if (id === undefined) return
  await ask('POST', '/graphql', { query: `mutation { rotateDkimKey(domainId: "${id}") { id } }` })
  await ask('GET', `/domains/${id}/verify`)
  await ask('DELETE', `/domains/${id}`)
}

export const domainFlood: Attack = {
  name: 'domains: added, checked against a silent DNS and deleted again and again',
  before: 'each new domain and key takes a core for 0.1 s or more, as often as requests are allowed',
  env: { DNS_SERVERS: SILENT },
  run: async (target) => {
    const seen = new Map<number, number>()
    const until = performance.now() + LASTS_MS
    let n = 0
    const client = async () => {
      while (performance.now() < until && !target.signal.aborted)
        await round(target, `flood${n++}.example`, seen)
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
    return [...seen].map(([status, count]) => `${count} × ${status}`).join(', ')
  },
}
