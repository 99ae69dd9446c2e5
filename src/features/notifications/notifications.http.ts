import { SYSTEM } from '../../admission/access.ts'
import { type Ctx, createCtx } from '../../ctx.ts'
import { AppError, serviceUnavailable } from '../../errors.ts'
import { readJson } from '../../http/body.ts'
import { type Exchange, replyJson } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import type { ServerRoute } from '../../http/server.ts'
import { SnsClient } from './certificates.ts'
import { mailgunNotification, signedToken } from './mailgun.rules.ts'
import { NotificationRecorder } from './notifications.ts'
import type { Report } from './report.rules.ts'
import { notReceived, sesMail, sesReports } from './ses.rules.ts'
import { type SnsMessage, snsMessage } from './sns.rules.ts'

const KILOBYTE = 1024
/** A message of SNS has 256 KB at most, which its JSON may double. */
const MAX_BODY = { mailgun: 300 * KILOBYTE, sns: 600 * KILOBYTE }

const HOUR_MS = 3_600_000
/** Older ones of SNS may have come before: who they are is remembered for longer than that. */
const MAX_SNS_AGE_MS = 14 * 24 * HOUR_MS
/** The same for mail, of which a repeat is known for a day. SNS gives up after an hour. */
const MAX_MAIL_AGE_MS = 20 * HOUR_MS

/** Takes over mail that a provider has received. Resolves with the reason when that can never be done. */
type TakeOver = (ctx: Ctx, mail: InboundMail) => Promise<string | null>
type InboundMail = { raw: Buffer; sender: string; recipients: string[] }

/** What providers tell of the mail that they were given or have received. Who does not prove to be one counts as a stranger. */
export const notificationRoutes = (
  { services, strangers }: HttpParts,
  takeOverMail: TakeOver,
): ServerRoute[] => {
  const { config } = services
  const ctx = createCtx(services, SYSTEM, 'notifications')
  const recorder = new NotificationRecorder(ctx)
  const sns = new SnsClient(services)

  const mailgun = async (exchange: Exchange) => {
    const wasNoStranger = strangers.count(exchange.request, services.now())
    if (config.mailgunWebhookKey === null) throw notSigned('MAILGUN_WEBHOOK_KEY')
    const body = await readJson(exchange, MAX_BODY.mailgun)
    const now = services.now()
    const token = signedToken(body, config.mailgunWebhookKey, now)
    if (token === null) throw notSigned('MAILGUN_WEBHOOK_KEY')
    wasNoStranger()
    await recorder.record(mailgunNotification(body, token, now))
    answer(exchange)
  }

  const ofSns = async (exchange: Exchange) => {
    const wasNoStranger = strangers.count(exchange.request, services.now())
    if (config.sns.topics.length === 0) throw notSigned('SNS_TOPIC_ARNS')
    const { data: message } = snsMessage.safeParse(await readJson(exchange, MAX_BODY.sns, { anyType: true }))
    if (!message || isOlder(message, MAX_SNS_AGE_MS) || !(await sns.isGenuine(message))) {
      throw notSigned('SNS_TOPIC_ARNS')
    }
    wasNoStranger()
    if (message.Type === 'SubscriptionConfirmation' && !(await sns.confirm(message))) {
      throw serviceUnavailable()
    }
    if (message.Type === 'Notification') {
      const reports = await reportsOf(message)
      await recorder.record({ source: 'ses', id: message.MessageId, token: null, reports })
    }
    answer(exchange)
  }

  const reportsOf = async (message: SnsMessage): Promise<Report[]> => {
    const mail = sesMail(message.Message)
    if (mail === null) return sesReports(message.Message, services.now())
    if (isOlder(message, MAX_MAIL_AGE_MS)) throw notSigned('SNS_TOPIC_ARNS')
    const { raw, missing, ...envelope } = mail
    const reason = raw === null ? missing : await takeOverMail(ctx, { raw, ...envelope })
    return reason === null ? [] : [notReceived(mail, reason, services.now())]
  }

  const isOlder = ({ Timestamp }: SnsMessage, ms: number): boolean =>
    !(Math.abs(services.now().getTime() - Date.parse(Timestamp)) <= ms)

  return [
    { method: 'POST', path: '/webhooks/mailgun', handle: mailgun },
    { method: 'POST', path: '/webhooks/sns', handle: ofSns },
  ]
}

const answer = (exchange: Exchange) => replyJson(exchange, 200, { success: true })

const notSigned = (variable: string) =>
  new AppError('FORBIDDEN', 'The notification is not signed as it has to be, or it is too old.', {
    suggestion: `Only the mail provider calls this address. Whoever runs the service: check ${variable}.`,
  })
