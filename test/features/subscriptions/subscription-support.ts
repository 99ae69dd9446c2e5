import type { Answer, Body, Service } from '../../support/service.ts'
import { sent, templateOf } from '../sending/send-support.ts'

/** What comes after the last slash of a link. */
export const tokenOf = (link: string): string => link.split('/').at(-1) ?? ''

/** A marketing message that was sent to a subscriber, and the token of the links in it. */
export async function newsletter(
  service: Service,
  to: string,
  { project = service.project, ...fields }: { project?: Service['project']; [field: string]: unknown } = {},
): Promise<{ contact: Body; email: Body; token: string }> {
  const template = await templateOf(service, { type: 'MARKETING', body: '<p>News</p>' }, project)
  const { contact, email } = await sent(
    service,
    { to, template, body: undefined, subscribed: true, ...fields },
    project,
  )
  return { contact, email, token: tokenOf(email.headers['List-Unsubscribe'].slice(1, -1)) }
}

export const ONE_CLICK = 'List-Unsubscribe=One-Click'

/** Follows a link as a mail client does it (RFC 8058). */
export const click = ({ call }: Service, page: string, token: string): Promise<Answer> =>
  call('POST', `/${page}/${token}`, {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: ONE_CLICK,
  })

export const oneClick = (service: Service, token: string): Promise<Answer> =>
  click(service, 'unsubscribe', token)

/** Subscribes again, as the button does it. */
export const subscribeAgain = ({ call }: Service, token: string): Promise<Answer> =>
  call('POST', `/subscribe/${token}`, { headers: { accept: 'text/html' } })

export async function isSubscribed({ sql }: Service, id: string): Promise<boolean> {
  const [contact] = await sql<Body>('select subscribed from contacts where id = $1', [id])
  return contact.subscribed
}
