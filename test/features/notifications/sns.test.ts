import * as assert from 'uvu/assert'
import { foldHitsJob } from '../../../src/features/tracking/fold-hits.job.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { workThrough } from '../../support/work.ts'
import {
  applied,
  fateOf,
  type Left,
  left,
  postSns,
  type SnsStandIn,
  startSns,
  TOPIC,
} from './notification-support.ts'

type Context = Service & { sns: SnsStandIn }

async function start(): Promise<Context> {
  const sns = await startSns()
  const service = await startService({ ROLES: 'http', ...sns.env })
  return {
    ...service,
    sns,
    stop: async () => {
      await service.stop()
      await sns.stop()
    },
  }
}

const ISO = '2026-01-02T03:04:05.678Z'

/** The object `mail` of SES; feedback notifications have no headers unless that is switched on. */
const mailOf = (mail: Left, withHeaders = true) => ({
  timestamp: ISO,
  messageId: mail.providerMessageId,
  source: `News <news@${mail.messageId.replace(/^.*@|>$/g, '')}>`,
  sourceArn: 'arn:aws:ses:eu-west-1:123456789012:identity/x',
  sendingAccountId: '123456789012',
  destination: [mail.to],
  ...(withHeaders && {
    headersTruncated: false,
    headers: [
      { name: 'From', value: 'x' },
      { name: 'Message-ID', value: mail.messageId },
    ],
    commonHeaders: { from: ['x'], to: [mail.to], messageId: mail.messageId, subject: 's' },
    tags: { 'ses:configuration-set': ['c'], 'ses:caller-identity': ['u'] },
  }),
})

/** What each event has beside `mail`. */
const EVENTS = {
  Send: { send: {} },
  Delivery: { delivery: { timestamp: ISO, processingTimeMillis: 3, recipients: [], smtpResponse: '250 ok' } },
  Bounce: {
    bounce: {
      ...{
        feedbackId: 'f',
        bounceType: 'Permanent',
        bounceSubType: 'General',
        timestamp: ISO,
        reportingMTA: 'dsn; x',
      },
      bouncedRecipients: [
        {
          emailAddress: 'x@example.org',
          action: 'failed',
          status: '5.1.1',
          diagnosticCode: 'smtp; 550 5.1.1 unknown',
        },
      ],
    },
  },
  Complaint: {
    complaint: {
      ...{
        feedbackId: 'f',
        timestamp: ISO,
        complaintSubType: null,
        complaintFeedbackType: 'abuse',
        userAgent: 'x',
      },
      complainedRecipients: [{ emailAddress: 'x@example.org' }],
    },
  },
  Reject: { reject: { reason: 'Bad content' } },
  Open: { open: { ipAddress: '192.0.2.1', timestamp: ISO, userAgent: 'Mozilla/5.0 (iPhone)' } },
  Click: {
    click: {
      ipAddress: '192.0.2.1',
      timestamp: ISO,
      userAgent: 'Mozilla/5.0 (iPhone)',
      link: 'https://shop.example/a',
      linkTags: null,
    },
  },
  'Rendering Failure': { failure: { errorMessage: 'Attribute x is not present', templateName: 't' } },
  DeliveryDelay: {
    deliveryDelay: {
      delayType: 'TransientCommunicationFailure',
      expirationTime: ISO,
      timestamp: ISO,
      delayedRecipients: [],
    },
  },
  Subscription: {
    subscription: {
      contactList: 'l',
      timestamp: ISO,
      source: 'x',
      newTopicPreferences: { unsubscribeAll: true, topicSubscriptionStatus: [] },
    },
  },
}

const messageOf = (type: keyof typeof EVENTS, mail: Left, more: object = {}) =>
  JSON.stringify({ eventType: type, mail: mailOf(mail), ...EVENTS[type], ...more })

const NOTHING = {
  ...{ status: 'SENT', delivered: false, bounced: false, softly: false, complained: false },
  ...{ subscribed: true, suppressed: null, events: [] as string[] },
}

scenario('Notifications of SNS', start, (test) => {
  const fate = async (context: Context, Message: (mail: Left) => string, version: '1' | '2' = '2') => {
    const mail = await left(context, `sns${Math.random()}@example.org`)
    const body = context.sns.sign({ Message: Message(mail) }, { version })
    for (const _repeat of [1, 2]) assert.is((await postSns(context, body)).status, 200)
    await applied(context)
    const { error: _, ...rest } = await fateOf(context, mail)
    return rest
  }

  test('tell of each kind of event of SES', async (context) => {
    const of = (type: keyof typeof EVENTS) => fate(context, (mail) => messageOf(type, mail))
    assert.equal(await of('Send'), NOTHING)
    assert.equal(await of('DeliveryDelay'), NOTHING)
    assert.equal(await of('Delivery'), {
      ...NOTHING,
      status: 'DELIVERED',
      delivered: true,
      events: ['email.delivery'],
    })
    const bounced = {
      ...{ ...NOTHING, status: 'BOUNCED', bounced: true, subscribed: false, suppressed: 'BOUNCE' },
      events: ['email.bounce', 'contact.unsubscribed'],
    }
    assert.equal(await of('Bounce'), bounced)
    assert.equal(await of('Complaint'), {
      ...{ ...NOTHING, status: 'COMPLAINED', complained: true, subscribed: false, suppressed: 'COMPLAINT' },
      events: ['email.complaint', 'contact.unsubscribed'],
    })
    for (const type of ['Reject', 'Rendering Failure'] as const) {
      assert.equal(await of(type), { ...NOTHING, status: 'FAILED', events: ['email.failed'] })
    }
    assert.equal(await of('Subscription'), {
      ...NOTHING,
      subscribed: false,
      events: ['contact.unsubscribed'],
    })
    // Signed with SHA1, and as feedback notifications have it: found by the receiver and the id of SES.
    const feedback = (mail: Left) =>
      JSON.stringify({
        notificationType: 'Bounce',
        mail: mailOf(mail, false),
        ...EVENTS.Bounce,
        bounce: { ...EVENTS.Bounce.bounce, bouncedRecipients: [{ emailAddress: mail.to }] },
      })
    assert.equal(await fate(context, feedback, '1'), bounced)
    const soft = {
      bounce: { ...EVENTS.Bounce.bounce, bounceType: 'Transient', bounceSubType: 'MailboxFull' },
    }
    assert.equal(await fate(context, (mail) => messageOf('Bounce', mail, soft)), {
      ...{ ...NOTHING, softly: true, events: ['email.bounce'] },
    })
    const notSpam = { complaint: { ...EVENTS.Complaint.complaint, complaintFeedbackType: 'not-spam' } }
    assert.equal(await fate(context, (mail) => messageOf('Complaint', mail, notSpam)), NOTHING)
    for (const text of ['', '[]', '{"eventType":"Bounce"}', '{"eventType":"Bounce","mail":{}}', 'no JSON']) {
      assert.equal(await fate(context, () => text), NOTHING)
    }
  })

  test('tell of opens and clicks of mail that is not tracked here', async (context) => {
    const mails = [await left(context, 'untracked@example.org')]
    await context.sql("update projects set tracking = 'ENABLED' where id = $1", [context.project.id])
    mails.push(await left(context, 'tracked@example.org'))
    const tell = async (mail: Left) => {
      for (const type of ['Open', 'Click'] as const) {
        const body = { ...EVENTS[type], eventType: type, mail: mailOf(mail) }
        assert.is((await postSns(context, context.sns.sign({ Message: JSON.stringify(body) }))).status, 200)
      }
      await applied(context)
    }
    const [untracked, tracked] = mails
    if (untracked && tracked) {
      await tell(tracked)
      await context.sql("update projects set tracking = 'DISABLED' where id = $1", [context.project.id])
      await context.sql("update emails set sent_at = '2026-01-01' where id = $1", [untracked.id])
      await tell(untracked)
    }
    context.clock.advance(10_000)
    await workThrough(context, foldHitsJob)
    const rows = await context.sql(
      'select opens, clicks, status from emails where id = any($1) order by id',
      [mails.map(({ id }) => id)],
    )
    assert.equal(rows, [
      { opens: 1, clicks: 1, status: 'CLICKED' },
      { opens: 0, clicks: 0, status: 'SENT' },
    ])
  })

  test('are refused when they are not those of the topic, or not signed by Amazon', async (context) => {
    const { sns } = context
    const mail = await left(context, 'refused@example.org')
    const Message = messageOf('Bounce', mail)
    const genuine = sns.sign({ Message })
    const elsewhere = 'https://evil.example/SimpleNotificationService-0123456789abcdef.pem'
    const refused = [
      { ...genuine, Message: Message.replace('Permanent', 'Transient') },
      { ...genuine, Subject: 'another' },
      { ...genuine, Signature: '' },
      { ...genuine, SignatureVersion: '3' },
      sns.sign({ Message, TopicArn: `${TOPIC}2` }),
      sns.sign({ Message, Timestamp: '2020-01-01T00:00:00.000Z' }),
      sns.sign({ Message }, { url: elsewhere }),
      sns.sign({ Message }, { url: genuine.SigningCertURL.replace('.pem', '.txt') }),
      sns.sign({ Message }, { url: genuine.SigningCertURL.replace('abcdef', 'none') }),
      {},
      [],
    ]
    for (const body of refused) {
      const answer = await postSns(context, body)
      assert.is(answer.status, 403, answer.text)
    }
    assert.is((await postSns(context, '{')).status, 400)
    assert.is((await postSns(context, sns.sign({ Message: 'x'.repeat(610 * 1024) }))).status, 413)
    await applied(context)
    assert.is((await fateOf(context, mail)).status, 'SENT')
  })

  test('confirm a subscription, with Amazon alone', async (context) => {
    const { sns } = context
    const SubscribeURL = `${sns.env.SNS_ENDPOINT}/?Action=ConfirmSubscription&Token=abc`
    const confirmation = { Type: 'SubscriptionConfirmation', Message: 'You have chosen …', Token: 'abc' }
    const answer = await postSns(context, sns.sign({ ...confirmation, SubscribeURL }))
    assert.is(answer.status, 200, answer.text)
    assert.ok(sns.asked.includes('/?Action=ConfirmSubscription&Token=abc'))
    const asked = sns.asked.length
    const evil = sns.sign({ ...confirmation, SubscribeURL: 'http://127.0.0.1:1/?Action=ConfirmSubscription' })
    assert.is((await postSns(context, evil)).status, 503)
    assert.is(sns.asked.length, asked)
    const unsubscribed = sns.sign({ ...confirmation, Type: 'UnsubscribeConfirmation', SubscribeURL })
    assert.is((await postSns(context, unsubscribed)).status, 200)
  })

  test('ask for a certificate once', ({ sns }) => {
    const [certificate] = sns.asked
    assert.is(sns.asked.filter((path) => path === certificate).length, 1)
  })
})
