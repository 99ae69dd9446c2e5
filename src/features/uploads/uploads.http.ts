import type { Config } from '../../config.ts'
import { AppError } from '../../errors.ts'
import { type Exchange, type Headers, matches, reply, replyInParts } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import type { ServerRoute } from '../../http/server.ts'
import { contentTypeOfKey, IMMUTABLE } from './images.rules.ts'
import { openImage, type StoredImage } from './local-store.ts'

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
  // The file under a key never changes.
  const etag = `"${key}"`
  const headers = { etag, ...headersOf(key, contentType) }
  if (matches(exchange.request.headers['if-none-match'], etag)) {
    await image.file.close()
    reply(exchange, 304, headers, null)
  } else if (exchange.method === 'HEAD') {
    await image.file.close()
    reply(exchange, 200, { ...headers, 'content-length': String(image.size) }, null)
  } else {
    await stream(exchange, headers, image)
  }
}

/** An image file may hold other data than pixels: a browser must take none of it for a page or a script. */
const headersOf = (key: string, contentType: string): Headers => ({
  'content-type': contentType,
  'content-disposition': `inline; filename="${key}"`,
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': IMMUTABLE,
})

async function stream(exchange: Exchange, headers: Headers, { file, size }: StoredImage): Promise<void> {
  await replyInParts(exchange, 200, { ...headers, 'content-length': String(size) }, file.createReadStream())
}
