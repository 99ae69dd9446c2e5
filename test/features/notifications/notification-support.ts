import { createHmac, createSign, randomBytes, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { generate } from 'selfsigned'
import * as assert from 'uvu/assert'
import { applyReportsJob } from '../../../src/features/notifications/apply-reports.job.ts'
import { listen } from '../../support/listen.ts'
import type { Answer, Body, Project, Service } from '../../support/service.ts'
import { workThrough } from '../../support/work.ts'
import { happened } from '../analytics/analytics-support.ts'
import { eventsOf, sent } from '../sending/send-support.ts'

export const MAILGUN_KEY = 'key-of-the-webhooks-of-mailgun'
export const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:mail'

/** A message that has been handed over. */
export type Left = { id: string; contactId: string; to: string; messageId: string; providerMessageId: string }

/** Sends a message and says that it has left; the service has no worker of its own. */
export async function left(service: Service, to: string, project = service.project): Promise<Left> {
  const { email } = await sent(service, { to, subscribed: true }, project)
  const providerMessageId = `0102${randomUUID()}-000000`
  const sentAt = new Date(service.clock.now().getTime() - 60_000)
  await service.sql(
    `with gone as (delete from deliveries where email_id = $1)
     update emails set status = 'SENT', sent_at = $3, provider_message_id = $2 where id = $1`,
    [email.id, providerMessageId, sentAt],
  )
  await happened(service, [{ emailId: email.id, name: 'email.sent', data: {}, at: sentAt }])
  return { id: email.id, contactId: email.contact_id, to, messageId: email.message_id, providerMessageId }
}

/** The body of a webhook of Mailgun, as its documentation has it. */
export function mailgunBody(
  service: Service,
  mail: Pick<Left, 'to' | 'messageId'>,
  event: object,
  { key = MAILGUN_KEY, ageMs = 0, token = randomBytes(25).toString('hex') } = {},
): Body {
  const seconds = Math.floor((service.clock.now().getTime() - ageMs) / 1_000)
  const timestamp = String(seconds)
  const signature = createHmac('sha256', key).update(timestamp).update(token).digest('hex')
  return {
    signature: { timestamp, token, signature },
    'event-data': {
      id: randomBytes(16).toString('base64url'),
      timestamp: seconds + 0.5299,
      'log-level': 'info',
      recipient: mail.to,
      'recipient-domain': mail.to.split('@')[1],
      envelope: {
        transport: 'smtp',
        sender: `news@${mail.messageId.replace(/^.*@|>$/g, '')}`,
        targets: mail.to,
      },
      message: {
        headers: { to: mail.to, 'message-id': mail.messageId.replace(/[<>]/g, ''), from: 'x', subject: 's' },
        attachments: [],
        size: 111,
      },
      tags: [],
      campaigns: [],
      'user-variables': {},
      flags: { 'is-routed': false, 'is-authenticated': true, 'is-test-mode': false },
      ...event,
    },
  }
}

/** The events of Mailgun, by what they are about. */
export const MAILGUN = {
  delivered: {
    event: 'delivered',
    'delivery-status': {
      code: 250,
      message: 'OK',
      description: '',
      'attempt-no': 1,
      tls: true,
      'mx-host': 'mx.example',
    },
  },
  bounced: {
    event: 'failed',
    severity: 'permanent',
    reason: 'bounce',
    'log-level': 'error',
    'delivery-status': {
      code: 550,
      message: '5.1.1 No such user',
      description: '',
      'enhanced-code': '5.1.1',
    },
  },
  softly: {
    event: 'failed',
    severity: 'temporary',
    reason: 'generic',
    'log-level': 'warn',
    'delivery-status': { code: 452, message: '4.2.2 Mailbox full', 'retry-seconds': 600, 'attempt-no': 1 },
  },
  complained: { event: 'complained', 'log-level': 'warn' },
  opened: {
    event: 'opened',
    ip: '50.56.129.169',
    geolocation: { country: 'US', region: 'CA', city: 'San Francisco' },
    'client-info': {
      'client-type': 'browser',
      'client-os': 'OS X',
      'client-name': 'Chrome',
      'user-agent': 'Mozilla/5.0 (Macintosh) Chrome/31',
      bot: '',
    },
  },
  clicked: {
    event: 'clicked',
    url: 'https://shop.example/sale',
    ip: '50.56.129.169',
    'client-info': { 'client-type': 'browser', 'user-agent': 'Mozilla/5.0 (Macintosh) Chrome/31', bot: '' },
  },
  unsubscribed: { event: 'unsubscribed', ip: '50.56.129.169' },
  accepted: { event: 'accepted', method: 'HTTP' },
  stored: { event: 'stored', storage: { url: 'https://storage.example', key: 'k' } },
  rejected: { event: 'rejected', reject: { reason: 'Sandbox', description: '' }, reason: 'Sandbox' },
} as const

export const postMailgun = (service: Service, body: Body): Promise<Answer> =>
  service.call('POST', '/webhooks/mailgun', { body })

/** Tells the service what Mailgun tells, and applies it. */
export async function tellByMailgun(service: Service, mail: Left, ...events: object[]): Promise<void> {
  for (const event of events) {
    const answer = await postMailgun(service, mailgunBody(service, mail, event))
    assert.is(answer.status, 200, answer.text)
  }
  await applied(service)
}

export const applied = (service: Service) => workThrough(service, applyReportsJob)

export type SnsStandIn = {
  env: Record<string, string>
  /** Addresses that were asked for. */
  asked: string[]
  sign: (message: object, options?: { version?: '1' | '2'; url?: string }) => Body
  stop: () => Promise<void>
}

/** Where the certificates of SNS are, with a key of its own. */
export async function startSns(): Promise<SnsStandIn> {
  const pem = await generate([{ name: 'commonName', value: 'sns.amazonaws.com' }], { keySize: 2048 })
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    const isCertificate = request.url === '/SimpleNotificationService-0123456789abcdef.pem'
    response.writeHead(isCertificate || request.url?.startsWith('/?Action=Confirm') ? 200 : 404)
    response.end(isCertificate ? pem.cert : '<ok/>')
  })
  const url = `http://127.0.0.1:${await listen(server)}`
  return {
    env: { SNS_TOPIC_ARNS: TOPIC, SNS_ENDPOINT: url },
    asked,
    stop: async () => void server.close(),
    sign: (
      message,
      { version = '2', url: certificate = `${url}/SimpleNotificationService-0123456789abcdef.pem` } = {},
    ) => {
      const full: Body = {
        Type: 'Notification',
        MessageId: randomUUID(),
        TopicArn: TOPIC,
        Timestamp: new Date().toISOString(),
        ...message,
        SignatureVersion: version,
        SigningCertURL: certificate,
        UnsubscribeURL: `${url}/?Action=Unsubscribe`,
      }
      const names = [
        'Message',
        'MessageId',
        'Subject',
        'SubscribeURL',
        'Timestamp',
        'Token',
        'TopicArn',
        'Type',
      ]
      const text = names
        .flatMap((name) => (full[name] === undefined ? [] : [`${name}\n${full[name]}\n`]))
        .join('')
      const signer = createSign(version === '2' ? 'RSA-SHA256' : 'RSA-SHA1')
      return { ...full, Signature: signer.update(text).sign(pem.private, 'base64') }
    },
  }
}

export const postSns = (service: Service, body: Body): Promise<Answer> =>
  service.call('POST', '/webhooks/sns', {
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'text/plain; charset=UTF-8', 'x-amz-sns-message-type': 'Notification' },
  })

/** An email as its owner sees it, with the names of the events of its contact. */
export async function fateOf(service: Service, mail: Left) {
  const [email] = await service.sql<Body>(
    `select status, delivered_at is not null as delivered, bounced_at is not null as bounced,
       soft_bounced_at is not null as softly, complained_at is not null as complained, error
     from emails where id = $1`,
    [mail.id],
  )
  const [contact] = await service.sql<Body>('select subscribed from contacts where id = $1', [mail.contactId])
  const [suppression] = await service.sql<Body>('select reason from suppressions where email = $1', [mail.to])
  const events = await eventsOf(service, mail.contactId)
  return {
    ...email,
    subscribed: contact?.subscribed as boolean,
    suppressed: (suppression?.reason ?? null) as string | null,
    events: events
      .map(({ name }) => name)
      .filter((name) => !['email.sent', 'contact.subscribed'].includes(name)),
  }
}

/** Every event of a contact with its data. */
export const eventsWithData = (service: Service, mail: Left) => eventsOf(service, mail.contactId)

/** A campaign that the messages count for. */
export async function asCampaign(service: Service, mails: Left[], project: Project): Promise<string> {
  const campaignId = randomUUID()
  await service.sql(
    `update emails set campaign_id = $1, source_type = 'CAMPAIGN' where project_id = $3 and id = any($2)`,
    [campaignId, mails.map(({ id }) => id), project.id],
  )
  return campaignId
}

/** What the tallies of a campaign add up to. */
export async function talliesOf(service: Service, campaignId: string): Promise<Body> {
  const [sums] = await service.sql<Body>(
    `select coalesce(sum(delivered), 0)::int as delivered, coalesce(sum(bounced), 0)::int as bounced,
       coalesce(sum(complained), 0)::int as complained from campaign_tallies where campaign_id = $1`,
    [campaignId],
  )
  return sums
}
