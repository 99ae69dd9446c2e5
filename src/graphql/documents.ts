import type { DocumentNode } from 'graphql'
import { AppError } from '../errors.ts'
import { ByteCache } from '../lib/byte-cache.ts'
import type { GraphQLPlugin } from './root-fields.ts'

/** Documents that have more are parsed anew each time and need a key, in characters. */
export const MAX_OPEN_DOCUMENT = 16 * 1024
/** The largest body of a request without a key: a document, and what JSON adds. */
export const MAX_OPEN_BODY_BYTES = 4 * MAX_OPEN_DOCUMENT
/** All parsed documents that are remembered. */
const MAX_PARSED_BYTES = 16 * 1024 * 1024
/** A token with its part of the tree and of the result of validation, as measured. */
const TOKEN_BYTES = 512

export const documentNeedsKey = () =>
  new AppError('PAYLOAD_TOO_LARGE', 'GraphQL documents of more than 16 KB need an API key.', {
    suggestion: 'Send the header "Authorization: Bearer <API key>", or a shorter document.',
  })

/** Refuses what strangers may not make us read. */
export const documentSizes: GraphQLPlugin = {
  onParams({ params: { query }, context: { actor } }) {
    // What is no text is refused by Yoga.
    const length = typeof query === 'string' ? query.length : 0
    if (actor.kind === 'anonymous' && length > MAX_OPEN_DOCUMENT) throw documentNeedsKey()
  },
}

/** Yoga remembers what it has parsed by its text, and what came of its validation with that. Errors are not worth it. */
export function documentCaches() {
  const documents = new ByteCache<DocumentNode>(MAX_PARSED_BYTES)
  return {
    documentCache: {
      get: (text: string) => documents.get(text),
      set: (text: string, document: DocumentNode) => {
        if (text.length > MAX_OPEN_DOCUMENT) return
        documents.set(text, document, 2 * text.length + TOKEN_BYTES * tokensOf(document))
      },
    },
    errorCache: { get: () => undefined, set: () => {} },
  }
}

function tokensOf({ loc }: DocumentNode): number {
  let count = 0
  for (let token = loc?.startToken ?? null; token !== null; token = token.next) count += 1
  return count
}
