import { AppError } from '../../errors.ts'
import { type Exchange, type Headers, reply, replyHtml } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import type { ServerRoute } from '../../http/server.ts'
import { webAddress } from '../../lib/net/web-address.ts'
import { leavingPage } from '../../pages/leaving-page.ts'
import { HitRecorder } from './hit-recorder.ts'
import { isMachineRequest } from './machines.rules.ts'
import { readToken, type TrackedMail } from './tracked-links.ts'

/** The smallest transparent GIF. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

/** Nobody keeps the answer, so that it is asked for again. */
const NOT_KEPT: Headers = {
  'cache-control': 'no-store, no-cache, must-revalidate, max-age=0, private',
  pragma: 'no-cache',
  expires: '0',
  'x-robots-tag': 'noindex, nofollow',
}

const PIXEL_HEADERS: Headers = {
  ...NOT_KEPT,
  'content-type': 'image/gif',
  'x-content-type-options': 'nosniff',
  // Pages of mail clients may ask for it.
  'cross-origin-resource-policy': 'cross-origin',
}

/** The image that tells that a message is opened, and the way to where its links lead. */
export const trackingRoutes = ({ services, metrics }: HttpParts): ServerRoute[] => {
  const { config } = services
  const recorder = new HitRecorder(services, metrics)
  const record = async ({ method, request }: Exchange, mail: TrackedMail, link: string | null) => {
    if (method !== 'HEAD') await recorder.record(mail, link, isMachineRequest(request.headers))
  }
  const open = async (exchange: Exchange, token: string) => {
    const mail = readToken(config, token.replace(/\.gif$/, ''), '')
    if (mail) await record(exchange, mail, null)
    reply(exchange, 200, PIXEL_HEADERS, PIXEL)
  }
  const click = async (exchange: Exchange, token: string) => {
    const target = exchange.query.get('u') ?? ''
    const address = webAddress(target)
    if (!address) throw brokenLink()
    const mail = readToken(config, token, target)
    if (!mail) {
      const page = leavingPage({ host: address.host, address: address.href, top: `${config.basePath}/` })
      return replyHtml(exchange, 404, page, NOT_KEPT)
    }
    await record(exchange, mail, target)
    reply(exchange, 302, { ...NOT_KEPT, location: address.href }, null)
  }
  return [
    { method: 'GET', path: '/t/o/:token', handle: (exchange, { token = '' }) => open(exchange, token) },
    // A link may be cut off before its token.
    ...['/t/c', '/t/c/', '/t/c/:token'].map(
      (path): ServerRoute => ({
        method: 'GET',
        path,
        isPage: true,
        handle: (exchange, { token = '' }) => click(exchange, token),
      }),
    ),
  ]
}

const brokenLink = () =>
  new AppError('RESOURCE_NOT_FOUND', 'This link does not work.', {
    suggestion:
      'A part of it is missing. Open the link from the email again, or copy the whole of it. If that does not help, answer the email and ask its sender.',
  })
