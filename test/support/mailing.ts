import * as assert from 'uvu/assert'
import { mailDeliveryWork } from '../../src/features/delivery/mail-delivery.ts'
import { type MailSink, type MailSinkOptions, startMailSink } from './mail-sink.ts'
import { type Body, type Project, type Service, type StartOptions, startService, until } from './service.ts'

export type SendingService = Service & { sink: MailSink }

/** A service that hands its mail to an SMTP server of its own. */
export async function startSending(
  env: Record<string, string> = {},
  { sink: sinkOptions = {}, ...options }: StartOptions & { sink?: MailSinkOptions } = {},
): Promise<SendingService> {
  const sink = await startMailSink(sinkOptions)
  const service = await startService({ MAIL_PROVIDER: 'smtp', SMTP_URL: sink.url, ...env }, options)
  const stop = async () => {
    await service.stop()
    await sink.stop()
  }
  return { ...service, sink, stop }
}

/** A request that can be sent; what a test is about is given, and `undefined` leaves a field out. */
export const sendBody = (project: Pick<Project, 'domain'>, fields: object = {}): Record<string, unknown> => ({
  to: 'ada@example.org',
  from: `hello@${project.domain}`,
  subject: 'Hello',
  body: '<p>Hello</p>',
  ...fields,
})

/** Has the service accept a message over HTTP and returns the email's id. */
export async function sendMail(
  { as, project }: Service,
  to: string,
  more: object = {},
  sender: Project = project,
): Promise<string> {
  const answer = await as(sender).post('/v1/send', sendBody(sender, { to, ...more }))
  assert.is(answer.status, 200, answer.text)
  return answer.body.data.emails[0].email
}

/** The email's row as it is in the database. */
export async function emailRow({ sql }: Service, id: string): Promise<Body> {
  const [row] = await sql('select * from emails where id = $1', [id])
  return row
}

/** The email's own events, oldest first. */
export const emailEvents = ({ sql }: Service, id: string): Promise<Body[]> =>
  sql('select name, data from events where email_id = $1 order by id', [id])

/** Waits for the end of attempt number `attempt`, whatever it came to, and returns the row. */
export const attempted = (service: Service, id: string, attempt: number): Promise<Body> =>
  until(`attempt ${attempt}`, async () => {
    const row = await emailRow(service, id)
    return row.attempts === attempt && row
  })

/** Moves the clock and has the worker look for what is due. */
export function pass({ clock, app, project }: Service, milliseconds: number): void {
  clock.advance(milliseconds)
  app.services.work.ask(mailDeliveryWork, { projectId: project.id })
}

/** The place of a message in the queue; nothing when it is not there. */
export async function deliveryRow({ sql }: Service, id: string): Promise<Body> {
  const [row] = await sql('select * from deliveries where email_id = $1', [id])
  return row
}
