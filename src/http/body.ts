import type { IncomingMessage } from 'node:http'
import { AppError, invalidBody, tooLarge } from '../errors.ts'
import { isJsonObject, type JsonObject } from '../lib/json.ts'

/** A body that nobody will read is still taken off the wire up to here, so that the sender sees our answer. */
const MAX_DISCARDED_BYTES = 256 * 1024 * 1024

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Reads the whole body. Throws PAYLOAD_TOO_LARGE above `limit` bytes, after the rest has been discarded. */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw await refuseLargeBody(request, limit)
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size <= limit) chunks.push(chunk)
      else chunks.length = 0
      if (size > MAX_DISCARDED_BYTES) break
    }
  } catch {
    throw invalidBody('The request ended before its body was complete.')
  }
  if (size > limit) throw bodyTooLarge(limit)
  return Buffer.concat(chunks, size)
}

async function refuseLargeBody(request: IncomingMessage, limit: number): Promise<AppError> {
  await discardBody(request)
  return bodyTooLarge(limit)
}

const bodyTooLarge = (limit: number) =>
  tooLarge(`The request body is larger than ${Math.floor(limit / 1024)} KB, the limit of this endpoint.`)

/**
 * Takes the rest of the body off the wire. Closing a connection with unread data resets it, and the client
 * would lose the answer that says what was wrong.
 */
export async function discardBody(request: IncomingMessage): Promise<void> {
  if (request.readableEnded || request.destroyed) return
  let size = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MAX_DISCARDED_BYTES) return
    }
  } catch {
    // The client has gone; there is nobody left to answer.
  }
}

/** Parses a JSON body that must be an object. An empty body is an empty object. */
export function parseJsonObject(contentType: string | undefined, body: Buffer): JsonObject {
  if (body.length === 0) return {}
  if (contentType && !/^application\/([\w.+-]+\+)?json\b/i.test(contentType)) {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON.', {
      suggestion: 'Send the header "Content-Type: application/json".',
    })
  }
  const value = parse(body)
  if (!isJsonObject(value)) throw invalidBody('The body must be a JSON object.')
  return value
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(body))
  } catch (error) {
    const reason = error instanceof SyntaxError ? error.message : 'it is not valid UTF-8'
    throw invalidBody(`The body is not valid JSON: ${reason.slice(0, 200)}`)
  }
}
