import * as assert from 'uvu/assert'
import { listUnmatched } from '../../../src/features/notifications/unmatched-reports.ts'
import { scenario } from '../../support/scenario.ts'
import { type Project, type Service, startService } from '../../support/service.ts'
import { postSns, type SnsStandIn, startSns, TOPIC } from './notification-support.ts'

type Context = Service & { sns: SnsStandIn }

async function start(): Promise<Context> {
  const sns = await startSns()
  const service = await startService({ ROLES: 'http', ...sns.env })
  const stop = async () => {
    await service.stop()
    await sns.stop()
  }
  return { ...service, sns, stop }
}

const ISO = '2026-01-02T03:04:05.678Z'
const ACTION = { type: 'SNS', topicArn: TOPIC, encoding: 'UTF8' }

const letter = (to: string, id: string, text: string) =>
  [
    'From: Ann Smith <ann@customer.example>',
    `To: ${to}`,
    `Message-ID: <${id}@customer.example>`,
    'Subject: A question',
    'Content-Type: text/plain; charset=iso-8859-1',
    'Content-Transfer-Encoding: 8bit',
    '',
    text,
  ].join('\r\n')

/** A notification of SES as its documentation has it. */
const receivedMail = (to: string, content: string | undefined, receipt: object = {}) => ({
  notificationType: 'Received',
  receipt: {
    timestamp: ISO,
    processingTimeMillis: 222,
    recipients: [to],
    spamVerdict: { status: 'PASS' },
    virusVerdict: { status: 'PASS' },
    spfVerdict: { status: 'PASS' },
    dkimVerdict: { status: 'PASS' },
    dmarcVerdict: { status: 'GRAY' },
    action: ACTION,
    ...receipt,
  },
  mail: {
    timestamp: ISO,
    source: 'ann@customer.example',
    messageId: 'd6iitobk75ur44p8kdnnp7g2n800',
    destination: [to, 'other@elsewhere.example'],
    headersTruncated: false,
    headers: [{ name: 'Return-Path', value: '<ann@customer.example>' }],
    commonHeaders: { returnPath: 'ann@customer.example', from: ['ann@customer.example'], to: [to] },
  },
  ...(content !== undefined && { content }),
})

const tell = ({ sns, ...service }: Context, mail: object, more: object = {}) =>
  postSns(service, sns.sign({ Message: JSON.stringify(mail), ...more }))

const arrived = ({ sql }: Service, { id }: Project) =>
  sql(
    `select e.from, e.to_email, e.subject, c.subscribed from emails e join contacts c on c.project_id = e.project_id and c.id = e.contact_id
     where e.project_id = $1 and e.status = 'RECEIVED' order by e.id`,
    [id],
  )

const eventTexts = async ({ sql }: Service, { id }: Project) =>
  (
    await sql(`select data from events where project_id = $1 and name = 'email.received' order by id`, [id])
  ).map(({ data }) => data.body)

scenario('Mail that SES has received', start, (test) => {
  test('is received as by SMTP, once, in both encodings', async (context) => {
    const project = await context.newProject()
    const to = `support@${project.domain}`
    const plain = receivedMail(to, letter(to, 'plain', 'How much is it?'))
    for (const _repeat of [1, 2]) assert.is((await tell(context, plain)).status, 200)
    const latin = Buffer.from(letter(to, 'latin', 'Grüße'), 'latin1').toString('base64')
    const encoded = receivedMail(to, latin, { action: { ...ACTION, encoding: 'BASE64' } })
    assert.is((await tell(context, encoded)).status, 200)
    const row = { from: 'ann@customer.example', to_email: to, subject: 'A question', subscribed: false }
    assert.equal(await arrived(context, project), [row, row])
    assert.equal(
      (await eventTexts(context, project)).map((text) => text.trim()),
      ['How much is it?', 'Grüße'],
    )
  })

  test('is received up to the size that SNS takes, and starts nothing when no person wrote it', async (context) => {
    const project = await context.newProject()
    const to = `support@${project.domain}`
    const large = receivedMail(to, letter(to, 'large', '"quoted"\r\n'.repeat(14_000)))
    assert.is((await tell(context, large)).status, 200)
    const bounce = receivedMail(to, letter(to, 'bounce', 'It could not be delivered'))
    const nobody = { ...bounce, mail: { ...bounce.mail, source: 'MAILER-DAEMON' } }
    assert.is((await tell(context, nobody)).status, 200)
    assert.is((await arrived(context, project)).length, 2)
    assert.is((await eventTexts(context, project)).length, 1)
  })

  test('is kept for inspection with its reason when it cannot be taken over', async (context) => {
    const project = await context.newProject()
    const to = `support@${project.domain}`
    const stored = { type: 'S3', topicArn: TOPIC, bucketName: 'mail', objectKey: 'd6iitobk75ur44p8' }
    const unreadable = `${'X-A: b\r\n'.repeat(400)}${letter(to, 'many', 'x')}`
    const told: [mail: object, reason: RegExp][] = [
      [receivedMail(to, undefined, { action: stored }), /s3:\/\/mail\/d6iitobk75ur44p8/],
      [receivedMail(to, undefined, { action: { type: 'Bounce' } }), /no content \(action Bounce\)/],
      [receivedMail('a@elsewhere.example', letter(to, 'lost', 'x')), /No verified domain/],
      [receivedMail(to, letter(to, 'virus', 'x'), { virusVerdict: { status: 'FAIL' } }), /virus/],
      [receivedMail(to, unreadable), /more than 300 header fields/],
    ]
    for (const [mail, reason] of told) {
      const MessageId = `kept-${reason.source}`
      for (const _repeat of [1, 2]) assert.is((await tell(context, mail, { MessageId })).status, 200)
      const { reports } = await listUnmatched(context.ctx(), 1)
      assert.is(reports[0]?.kind, 'NOT_RECEIVED')
      assert.is(reports[0]?.providerMessageId, 'd6iitobk75ur44p8kdnnp7g2n800')
      assert.match(reports[0]?.reason ?? '', reason)
    }
    assert.is((await listUnmatched(context.ctx(), 100)).total, told.length)
    assert.equal(await arrived(context, project), [])
  })

  test('is refused when it is forged, or so old that it may have come before', async (context) => {
    const project = await context.newProject()
    const to = `support@${project.domain}`
    const Message = JSON.stringify(receivedMail(to, letter(to, 'old', 'x')))
    const { sns } = context
    const hoursAgo = (hours: number) =>
      new Date(context.clock.now().getTime() - hours * 3_600_000).toISOString()
    const genuine = sns.sign({ Message })
    const refused = [
      { ...genuine, Message: Message.replace('ann@', 'eve@') },
      sns.sign({ Message, TopicArn: `${TOPIC}2` }),
      sns.sign({ Message, Timestamp: hoursAgo(21) }),
    ]
    for (const body of refused) assert.is((await postSns(context, body)).status, 403)
    assert.equal(await arrived(context, project), [])
    assert.is((await postSns(context, sns.sign({ Message, Timestamp: hoursAgo(19) }))).status, 200)
    assert.is((await arrived(context, project)).length, 1)
  })
})
