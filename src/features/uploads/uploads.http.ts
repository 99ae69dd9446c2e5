import { pipeline } from 'node:stream/promises'
import type { Config } from '../../config.ts'
import { AppError } from '../../errors.ts'
import { type Exchange, type Headers, reply } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import type { ServerRoute } from '../../http/server.ts'
import { contentTypeOfKey, IMMUTABLE } from './images.rules.ts'
import { openImage, type StoredImage } from './local-store.ts'

/** A client that takes nothing for so long is not waited for, in milliseconds. */
const STALLED_MS = 60_000

/**
 * Serves the images that are kept on this machine, to anyone: they are shown in mail. Also after a change to S3,
 * because mail that was sent before still names them.
 */
export const uploadRoutes = ({ services: { config } }: HttpParts): ServerRoute[] => [
  { method: 'GET', path: '/uploads/:key', handle: (exchange, { key = '' }) => serve(exchange, config, key) },
]

async function serve(exchange: Exchange, config: Config, key: string): Promise<void> {
  const contentType = contentTypeOfKey(key)
  const image = contentType && (await openImage(config, key))
  if (!image) throw new AppError('RESOURCE_NOT_FOUND', 'There is no such image.')
  // What is under a key never changes.
  const etag = `"${key}"`
  const headers = { etag, ...headersOf(key, contentType) }
  if (isKnown(exchange.request.headers['if-none-match'], etag)) {
    await image.file.close()
    reply(exchange, 304, headers, null)
  } else if (exchange.method === 'HEAD') {
    await image.file.close()
    reply(exchange, 200, { ...headers, 'content-length': String(image.size) }, null)
  } else {
    await stream(exchange, headers, image)
  }
}

/** An image may hold anything besides its pixels: nothing of it is to be taken for a page or a script. */
const headersOf = (key: string, contentType: string): Headers => ({
  'content-type': contentType,
  'content-disposition': `inline; filename="${key}"`,
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': IMMUTABLE,
})

/** RFC 9110, 13.1.2: a weak tag is as good here. */
const isKnown = (ifNoneMatch: string | undefined, etag: string): boolean =>
  (ifNoneMatch ?? '').split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')))

async function stream(exchange: Exchange, headers: Headers, { file, size }: StoredImage): Promise<void> {
  const { response, requestId } = exchange
  response.setTimeout(STALLED_MS, () => response.destroy())
  response.writeHead(200, { ...headers, 'content-length': String(size), 'x-request-id': requestId })
  try {
    await pipeline(file.createReadStream(), response)
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

const isGone = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'].includes(String(error.code))
