import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { AppError, invalidBody, tooLarge } from '../errors.ts'
import { isJsonObject, type JsonObject } from '../lib/json.ts'
import { UNCOUNTED } from './budgets/request-bytes.ts'
import { type Decoding, decodingOf } from './content-encoding.ts'
import type { Exchange } from './exchange.ts'

/** The largest JSON body of a request that takes no message, in bytes. */
export const MAX_BODY_BYTES = 1024 * 1024
/** Base64 turns three bytes into four characters; the rest of a message is small beside its attachments. */
const BASE64_GROWTH = 4 / 3
const MESSAGE_OVERHEAD = 2 * 1024 * 1024

/** The largest JSON body of a request that may hold a message with attachments, in bytes. */
export const messageBodyLimit = ({ maxMessageBytes }: Config): number =>
  maxMessageBytes * BASE64_GROWTH + MESSAGE_OVERHEAD

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Milliseconds in which the whole body must arrive at its pace, after a grace time at the beginning: room is
 * not kept for bytes that are not sent.
 */
const PACE = { whole: 60_000, grace: 10_000, lookEvery: 5_000 }

/**
 * Block size, in bytes, of a body whose length is not declared: it is kept in blocks, and taken from the
 * budget block by block.
 */
const BLOCK = 64 * 1024

/**
 * Reads the whole body, once there is room for it, and undoes its Content-Encoding. Throws PAYLOAD_TOO_LARGE as soon as
 * it is known to have more than `limit` bytes, compressed or not, SERVICE_UNAVAILABLE and UNSUPPORTED_MEDIA_TYPE.
 */
export async function readBody(
  { request, bytes }: Exchange,
  limit: number,
  { whole: wholeMs, grace, lookEvery } = PACE,
): Promise<Buffer> {
  const decoding = decodingOf(request)
  const declared = request.headers['content-length']
  if (Number(declared ?? 0) > limit) throw bodyTooLarge(limit)
  // How large a compressed body becomes is not known before.
  const length = decoding ? undefined : declared
  const expected = decoding ? Math.min(limit, expectedBytes(declared)) : Number(length ?? 0)
  await bytes.takeBody(expected)
  const body = new Body(length === undefined ? null : Number(length))
  let received = 0
  let taken = Math.max(UNCOUNTED, expected)
  const began = performance.now()
  // Room for the content of a few compressed bytes is held for a shorter time.
  const share = declared === undefined || !decoding ? 1 : Math.max(SHORTEST, Number(declared) / expected)
  const allowedMs = wholeMs * share
  const pace = setInterval(() => {
    const part = (performance.now() - began - grace) / allowedMs
    if (part > 1 || received < Number(declared ?? 0) * part) request.destroy()
  }, lookEvery)
  const count = (bytesOfChunk: number) => {
    received += bytesOfChunk
  }
  try {
    for await (const chunk of decoding ? decoded(request, decoding, count) : bytesOf(request)) {
      if (body.size + chunk.length > limit) throw bodyTooLarge(limit)
      for (; length === undefined && body.size + chunk.length > taken; taken += BLOCK)
        bytes.takeMoreOfBody(BLOCK)
      body.add(chunk)
      if (!decoding) received = body.size
    }
    if (decoding && decoding.decoder.bytesWritten < received) throw invalidBody(notValid(decoding))
  } catch (error) {
    if (error instanceof AppError) throw error
    const isComplete = decoding !== null && !request.readableAborted
    throw invalidBody(isComplete ? notValid(decoding) : 'The request ended before its body was complete.')
  } finally {
    clearInterval(pace)
  }
  return body.whole()
}

/** Share of the usual time. */
const SHORTEST = 1 / 6

/** Also says so when other bytes follow the compressed body. */
const notValid = ({ name }: Decoding): string =>
  `The body is not valid ${name}, which its Content-Encoding says.`

/** The bytes of a body. A chunk may be a single byte, which costs two hundred when it is kept as it came. */
class Body {
  size = 0
  readonly #whole: Buffer | null
  readonly #blocks: Buffer[] = []

  /** `length`: as many bytes as it will have; null when that is not known. */
  constructor(length: number | null) {
    this.#whole = length === null ? null : Buffer.allocUnsafe(length)
  }

  add(chunk: Buffer): void {
    if (this.#whole) {
      chunk.copy(this.#whole, this.size)
      this.size += chunk.length
      return
    }
    for (let rest = chunk; rest.length > 0; ) {
      const place = this.size % BLOCK
      if (place === 0) this.#blocks.push(Buffer.allocUnsafe(BLOCK))
      const copied = rest.copy(this.#blocks.at(-1) ?? rest, place)
      this.size += copied
      rest = rest.subarray(copied)
    }
  }

  whole = (): Buffer => this.#whole ?? Buffer.concat(this.#blocks, this.size)
}

/** Stopping early must leave the connection alone: the answer goes over it. */
const bytesOf = (request: IncomingMessage): AsyncIterable<Buffer> =>
  request.iterator({ destroyOnReturn: false })

/**
 * The decoded bytes, as fast as they are read. `count` is called with the number of compressed bytes
 * received.
 */
function decoded(
  request: IncomingMessage,
  { decoder }: Decoding,
  count: (bytes: number) => void,
): AsyncIterable<Buffer> {
  const counted = async function* () {
    for await (const chunk of bytesOf(request)) {
      count(chunk.length)
      yield chunk
    }
  }
  // The reader of the decoder receives the failure.
  pipeline(counted(), decoder).catch(() => {})
  return decoder
}

/**
 * Compressed JSON seldom grows by more than this; a request that has waited for so much room need not be
 * refused soon.
 */
const EXPECTED_GROWTH = 32
const EXPECTED_OF_CHUNKED = 1024 * 1024
/** Above this, room is taken when the bytes arrive: a mere expectation must not keep out others. */
const MOST_EXPECTED = 8 * 1024 * 1024

/** Size that a compressed body of a declared length is expected to have, before it is read. */
const expectedBytes = (declared: string | undefined): number =>
  declared === undefined ? EXPECTED_OF_CHUNKED : Math.min(MOST_EXPECTED, EXPECTED_GROWTH * Number(declared))

const bodyTooLarge = (limit: number) =>
  tooLarge(`The request body is larger than ${Math.floor(limit / 1024)} KB, the limit of this endpoint.`)

/** Larger bodies are worked on in several steps, so that other requests get their turns between them; in bytes. */
const LARGE = 1024 * 1024

/** Reads a JSON body that must be an object. An empty body is an empty object. */
export async function readJsonObject(exchange: Exchange, limit: number): Promise<JsonObject> {
  const value = await readJson(exchange, limit)
  if (!isJsonObject(value)) throw invalidBody('The body must be a JSON object.')
  return value
}

type JsonOptions = {
  /** Whatever the Content-Type says: Amazon SNS calls its JSON plain text. */
  anyType?: boolean
}

/** Reads a JSON body. An empty body is an empty object. */
export async function readJson(
  exchange: Exchange,
  limit: number,
  { anyType = false }: JsonOptions = {},
): Promise<unknown> {
  // The bytes are let go before there is the value as well.
  const text = await readText(exchange, limit, anyType)
  if (text.length === 0) return {}
  const value = parse(text)
  if (text.length > LARGE) await nextTurn()
  return value
}

async function readText(exchange: Exchange, limit: number, anyType: boolean): Promise<string> {
  const body = await readBody(exchange, limit)
  if (body.length === 0) return ''
  const contentType = exchange.request.headers['content-type']
  if (contentType !== undefined && !anyType) assertJsonType(contentType)
  const text = decode(body)
  if (body.length > LARGE) await nextTurn()
  return text
}

export function assertJsonType(contentType: string | undefined): void {
  if (/^\s*application\/([\w.+-]+\+)?json\s*(;|$)/i.test(contentType ?? '')) return
  throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON.', {
    suggestion: 'Send the header "Content-Type: application/json".',
  })
}

function decode(body: Buffer): string {
  try {
    return UTF8.decode(body)
  } catch {
    throw invalidJson('it is not valid UTF-8')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalidJson(error instanceof SyntaxError ? error.message : 'it cannot be parsed')
  }
}

const invalidJson = (reason: string) => invalidBody(`The body is not valid JSON: ${reason.slice(0, 200)}`)
