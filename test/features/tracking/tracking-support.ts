import * as assert from 'uvu/assert'
import { MINUTE, SECOND } from '../../support/clock.ts'
import { attempted, emailEvents, emailRow, sendMail } from '../../support/mailing.ts'
import {
  type Answer,
  type Body,
  type Project,
  type Service,
  startService,
  until,
} from '../../support/service.ts'

export const PERSON =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15'
export const APPLE_PROXY = 'Mozilla/5.0'

export const setTracking = ({ sql }: Service, project: Project, tracking: string) =>
  sql('update projects set tracking = $2::tracking where id = $1', [project.id, tracking])

/** A service whose own project tracks its mail. */
export async function startTracking(env: Record<string, string> = {}): Promise<Service> {
  const service = await startService(env)
  await setTracking(service, service.project, 'ENABLED')
  return service
}

export type TrackedMail = {
  id: string
  html: string
  /** Paths on the service. */
  pixel: string
  links: string[]
}

/** The pixel and the tracked links of a body, as paths. */
export function trackedIn({ url }: Service, html: string): { pixel: string; links: string[] } {
  const paths = [...html.matchAll(/(?:src|href)=["'](https?:[^"']+)["']/g)].map(([, address = '']) => address)
  const own = paths
    .filter((address) => address.startsWith(`${url}/t/`))
    .map((address) => address.slice(url.length))
  return {
    pixel: own.find((path) => path.startsWith('/t/o/')) ?? '',
    links: own.filter((path) => path.startsWith('/t/c/')),
  }
}

export async function bodyOf({ sql }: Service, id: string): Promise<string> {
  const [row] = await sql<{ html: string }>('select html from email_contents where email_id = $1', [id])
  return row?.html ?? ''
}

/** Sends a message and waits until it has left, a minute ago by the clock of the service. */
export async function mailed(
  service: Service,
  to: string,
  body = '<p><a href="https://shop.example/a?x=1&amp;y=2">A</a> <a href="https://shop.example/b">B</a></p>',
  more: object = {},
): Promise<TrackedMail> {
  const id = await sendMail(service, to, { body, ...more })
  await attempted(service, id, 1)
  service.clock.advance(MINUTE)
  const html = await bodyOf(service, id)
  return { id, html, ...trackedIn(service, html) }
}

/** What a client asks for, without following where it leads. */
export async function ask(
  { url }: Service,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'user-agent': PERSON, ...headers },
    redirect: 'manual',
    signal: AbortSignal.timeout(30_000),
  })
  return { status: response.status, headers: response.headers, text: await response.text(), body: undefined }
}

/** Opens and clicks of a message as they are recorded, when as many as `count` of them are, and the message's row. */
export async function recorded(
  service: Service,
  id: string,
  count: number,
): Promise<{ events: Body[]; row: Body }> {
  service.clock.advance(10 * SECOND)
  const events = await until(`${count} events`, async () => {
    const all = await emailEvents(service, id)
    const found = all.filter(({ name }: Body) => ['email.open', 'email.click'].includes(name))
    return found.length >= count && found
  })
  assert.is(events.length, count)
  return { events, row: await emailRow(service, id) }
}

export const waitingHits = ({ sql }: Service, id: string): Promise<Body[]> =>
  sql('select * from tracking_hits where email_id = $1 order by id', [id])
