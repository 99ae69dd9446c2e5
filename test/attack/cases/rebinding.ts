import { openRaw } from '../../support/raw-http.ts'
import type { Attack, Target } from '../define-attack.ts'

const ROUNDS = 200

/** As a browser asks for a page from elsewhere whose name leads to 127.0.0.1 (DNS rebinding), and as a proxy does. */
const HEADS = [
  ['Host: evil.example'],
  ['Host: 127.0.0.1.evil.example:4000'],
  ['Host: localhost', 'Host: evil.example'],
  ['Host: localhost', 'X-Forwarded-For: 203.0.113.7'],
  ['Host: localhost', 'Forwarded: for=203.0.113.7'],
]

async function isAnswered({ url }: Target, path: string, head: string[]): Promise<boolean> {
  const connection = openRaw(url)
  connection.write(`${[`GET ${path} HTTP/1.1`, ...head].join('\r\n')}\r\n\r\n`)
  try {
    return (await connection.answer()).status === 200
  } finally {
    connection.end()
  }
}

export const rebinding: Attack = {
  name: 'rebinding: pages from elsewhere that read metrics and mail',
  before: 'metrics and mail were read',
  run: async (target) => {
    let answered = 0
    for (let round = 0; round < ROUNDS && !target.signal.aborted; round += 1) {
      for (const path of ['/metrics', '/mailbox', '/mailbox/messages']) {
        const tries = await Promise.all(HEADS.map((head) => isAnswered(target, path, head)))
        answered += tries.filter(Boolean).length
      }
    }
    if (answered > 0) throw new Error(`${answered} requests were answered`)
    return `0 of ${ROUNDS * 3 * HEADS.length} requests were answered`
  },
}
