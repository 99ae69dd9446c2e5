import { setImmediate } from 'node:timers/promises'
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens'
import type { DocumentNode } from 'graphql'
import { AppError } from '../../errors.ts'
import { ByteCache } from '../../lib/byte-cache.ts'
import type { GraphQLPlugin } from './root-fields.ts'

/** Documents that have more are parsed anew each time and need a key, in characters. */
export const MAX_OPEN_DOCUMENT = 16 * 1024
/** The largest body of a request without a key: a document, and its escapes in JSON. */
export const MAX_OPEN_BODY_BYTES = 4 * MAX_OPEN_DOCUMENT
/** Tokens of a document without a key. The time that validation takes can grow with their square. */
const MAX_OPEN_TOKENS = 500
/** All parsed documents that are remembered. */
const MAX_PARSED_BYTES = 16 * 1024 * 1024
/** A token with its part of the tree and of the result of validation, as measured. */
const TOKEN_BYTES = 512
/** An unknown document counts as one more request for each of this many characters, and as eight at most. */
const COUNTED_CHARACTERS = 1024
const MAX_COST = 8

export const documentNeedsKey = () =>
  new AppError('PAYLOAD_TOO_LARGE', 'GraphQL documents of more than 16 KB need an API key.', {
    suggestion: 'Send the header "Authorization: Bearer <API key>", or a shorter document.',
  })

/**
 * Limits the cost of documents. Those that have been parsed and validated are remembered by their text,
 * within bounds; errors are not. Others are charged by their length and take turns, between which the process
 * does everything else.
 */
export function createDocuments(maxTokens: number) {
  const known = new ByteCache<DocumentNode>(MAX_PARSED_BYTES)
  const ofKeys = maxTokensPlugin({ n: maxTokens })
  const ofStrangers = maxTokensPlugin({ n: MAX_OPEN_TOKENS })
  let lastTurn: Promise<void> = Promise.resolve()
  const ownTurn = () => {
    lastTurn = lastTurn.then(() => setImmediate())
    return lastTurn
  }
  const plugin: GraphQLPlugin = {
    async onParams({ params: { query }, context: { actor, charge } }) {
      // Yoga refuses values that are no text.
      if (typeof query !== 'string') return
      if (actor.kind === 'anonymous' && query.length > MAX_OPEN_DOCUMENT) throw documentNeedsKey()
      const cost = Math.min(MAX_COST, Math.floor(query.length / COUNTED_CHARACTERS))
      if (cost === 0 || known.get(query)) return
      await charge(cost)
      await ownTurn()
    },
    onParse(parsing) {
      const limit = parsing.context.actor.kind === 'anonymous' ? ofStrangers : ofKeys
      return limit.onParse?.(parsing)
    },
  }
  const caches = {
    documentCache: {
      get: (text: string) => known.get(text),
      set: (text: string, document: DocumentNode) => {
        if (text.length > MAX_OPEN_DOCUMENT) return
        known.set(text, document, 2 * text.length + TOKEN_BYTES * tokensOf(document))
      },
    },
    errorCache: { get: () => undefined, set: () => {} },
  }
  return { plugin, caches }
}

function tokensOf({ loc }: DocumentNode): number {
  let count = 0
  for (let token = loc?.startToken ?? null; token !== null; token = token.next) count += 1
  return count
}
