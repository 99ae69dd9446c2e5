import type { Attack, Target } from '../define-attack.ts'
import { fifteen, hammerGraphQL } from './hammer.ts'

const LASTING_MS = 12_000

async function post({ url }: Target, key: string, path: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (answer.status >= 300) throw new Error(`${path} was refused: ${await answer.text()}`)
  await answer.arrayBuffer()
}

export const fifteenAliases: Attack = {
  name: 'graphql: fifteen audience previews a request, by a tenant under the usual limit',
  before: 'each request counted as one',
  run: (target) => {
    const preview = 'previewAudience(input: { all: true }) { matching sample { id data } }'
    const body = (index: number) => JSON.stringify({ query: fifteen(preview, index) })
    return hammerGraphQL(target, { atOnce: 8, lastingMs: LASTING_MS, key: target.tenant.secret, body })
  },
}

const CONTACTS = 100
const EVENTS_EACH = 2
const DATA = { text: 'x'.repeat(60_000) }

/** 100 contacts of 60 KB with events of 60 KB each. */
async function fill(target: Target): Promise<void> {
  const { secret: key } = target.unlimited
  const each = async (index: number) => {
    const email = `large-${index}@example.org`
    for (let event = 0; event < EVENTS_EACH; event += 1) {
      await post(target, key, '/events/track', { email, event: 'large', data: DATA })
    }
  }
  for (let index = 0; index < CONTACTS; index += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, offset) => each(index + offset)))
  }
}

export const largeNestedLists: Attack = {
  name: 'graphql: contacts of 60 KB with their events, fifteen times a request, eight requests at once',
  before: '977 MB, health p99 0.9 s',
  run: async (target) => {
    await fill(target)
    const contacts = 'contacts(limit: 100) { data { data events(limit: 100) { data { data } } } }'
    const body = (index: number) => JSON.stringify({ query: fifteen(contacts, index) })
    return hammerGraphQL(target, { atOnce: 8, lastingMs: LASTING_MS, key: target.unlimited.secret, body })
  },
}

const MESSAGES = 14
const MESSAGE_BYTES = 1024 * 1024

export const bodiesInLists: Attack = {
  name: 'graphql: lists of mail with 14 MB of bodies, fifteen times a request, eight requests at once',
  before: '20 bodies of 30 MB in a list: 6.7 GB, then a 500',
  run: async (target) => {
    const { secret: key, domain } = target.unlimited
    const body = 'x'.repeat(MESSAGE_BYTES)
    const message = { to: 'bodies@example.org', from: `large@${domain}`, subject: 'Large', body }
    for (let index = 0; index < MESSAGES; index += 1) await post(target, key, '/v1/send', message)
    const list = 'contact(email: "bodies@example.org") { emails { data { body } } }'
    const ask = () => JSON.stringify({ query: fifteen(list) })
    return hammerGraphQL(target, { atOnce: 8, lastingMs: LASTING_MS, key, body: ask })
  },
}
