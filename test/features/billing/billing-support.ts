import { type BrowserSession, member } from '../../support/browser-session.ts'
import { type Answer, type Project, type Service, startService } from '../../support/service.ts'
import { type StripeApi, startStripeApi, stripeSignature } from '../../support/stripe-api.ts'

export type Billed = { service: Service; stripe: StripeApi; stop: () => Promise<void> }

/** A service that is billed through a stand-in. */
export async function startBilled(env: Record<string, string> = {}): Promise<Billed> {
  const stripe = await startStripeApi()
  const service = await startService({ ...stripe.env, ...env })
  const stop = async () => {
    await service.stop()
    await stripe.stop()
  }
  return { service, stripe, stop }
}

export const NO_CAPS = { workflows: null, campaigns: null, transactional: null, inbound: null }

export type Owner = {
  project: Project
  browser: BrowserSession
  /** An operation of billing of the project. */
  call: (method: string, what: string, body?: unknown) => Promise<Answer>
  cap: (caps: Partial<Record<keyof typeof NO_CAPS, number>>) => Promise<Answer>
  send: (to: string | string[]) => Promise<Answer>
}

/** A project of its own, with its owner. */
export async function newOwner(service: Service): Promise<Owner> {
  const project = await service.newProject()
  const browser = await member(service, 'OWNER', project)
  const call: Owner['call'] = (method, what, body) =>
    browser.call(method, `/users/@me/projects/${project.id}/${what}`, body)
  return {
    project,
    browser,
    call,
    cap: (caps) => call('PUT', 'billing-limits', { ...NO_CAPS, ...caps }),
    send: (to) =>
      service.as(project).post('/v1/send', { to, from: `a@${project.domain}`, subject: 's', body: 'b' }),
  }
}

/** A notification as Stripe sends it. */
export function notify(
  { service }: Billed,
  type: string,
  customer: string | null,
  id = `evt_${Math.random()}`,
) {
  const body = JSON.stringify({ id, object: 'event', type, data: { object: { customer } } })
  const signature = stripeSignature(body, service.app.services.now())
  return service.call('POST', '/webhooks/incoming/stripe', {
    body,
    headers: { 'stripe-signature': signature },
  })
}
