import { randomUUID } from 'node:crypto'
import { decodeWords } from 'postal-mime'
import * as assert from 'uvu/assert'
import { sendBody } from '../../support/mailing.ts'
import { assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { delivered, fieldErrors, send, sendByGraphQL, sent, stored, withoutTrace } from './send-support.ts'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Without a worker nothing happens after the answer, so that rows can be counted. */
const start = sharedStart(() => startService({ ROLES: 'http' }))

const BAD_FIELDS: Record<string, [fields: object, errors: [string, string][]]> = {
  'no body at all': [
    { to: undefined, subject: undefined, body: undefined, from: undefined },
    [
      ['to', 'required'],
      ['subject', 'required'],
      ['body', 'required'],
      ['from', 'required'],
    ],
  ],
  'null where a value is required': [
    { to: null, subject: null, body: null, from: null },
    [
      ['to', 'required'],
      ['subject', 'required'],
      ['body', 'required'],
      ['from', 'required'],
    ],
  ],
  'an empty subject': [{ subject: '' }, [['subject', 'too_small']]],
  'a subject of 999 characters': [{ subject: 'x'.repeat(999) }, [['subject', 'too_big']]],
  'a line feed in the subject': [{ subject: 'a\nb' }, [['subject', 'invalid_string']]],
  'a carriage return in the subject': [{ subject: 'a\rb' }, [['subject', 'invalid_string']]],
  'a NUL in the subject': [{ subject: 'a\0b' }, [['subject', 'invalid_string']]],
  'half a surrogate pair in the subject': [{ subject: 'a\ud83d' }, [['subject', 'invalid_string']]],
  'a subject that is no text': [{ subject: 5 }, [['subject', 'invalid_type']]],
  'an empty body': [{ body: '' }, [['body', 'too_small']]],
  'a NUL in the body': [{ body: 'a\0b' }, [['body', 'invalid_string']]],
  'a body that is no text': [{ body: ['<p>'] }, [['body', 'invalid_type']]],
  'a template id that is none': [
    { template: 'welcome', subject: undefined },
    [['template', 'invalid_string']],
  ],
  'a template that is no text': [{ template: {} }, [['template', 'invalid_type']]],
  'subscribed as text': [{ subscribed: 'true' }, [['subscribed', 'invalid_type']]],
  'data that is a list': [{ data: [] }, [['data', 'invalid_type']]],
  'data that is text': [{ data: 'x' }, [['data', 'invalid_type']]],
  'headers that are a list': [{ headers: [] }, [['headers', 'invalid_type']]],
  'a reply address that is none': [{ reply: 'nobody' }, [['reply', 'invalid_string']]],
  'a reply address with a name': [{ reply: 'Ada <ada@example.org>' }, [['reply', 'invalid_string']]],
  'attachments that are no list': [{ attachments: {} }, [['attachments', 'invalid_type']]],
  'many things at once': [
    { to: ['a@b.co', 'x'], subject: '', subscribed: 1, attachments: [1] },
    [
      ['to.1', 'invalid_string'],
      ['subject', 'too_small'],
      ['subscribed', 'invalid_type'],
      ['attachments.0', 'invalid_type'],
    ],
  ],
}

const BAD_BODIES: [what: string, status: number, code: string, body: string][] = [
  ['broken JSON', 400, 'INVALID_REQUEST_BODY', '{"to":'],
  ['a list', 400, 'INVALID_REQUEST_BODY', '[]'],
  ['text', 400, 'INVALID_REQUEST_BODY', '"to"'],
  ['null', 400, 'INVALID_REQUEST_BODY', 'null'],
  ['nothing', 422, 'VALIDATION_ERROR', ''],
]

scenario('POST /v1/send', start, (test) => {
  test('answers with the contact and the email of each recipient, in their order', async (service) => {
    const { status, body } = await send(service, { to: ['b@example.org', 'a@example.org'] })
    assert.is(status, 200)
    assert.equal(Object.keys(body), ['success', 'data'])
    assert.is(body.success, true)
    assert.equal(
      body.data.emails.map((email: { contact: { email: string } }) => email.contact.email),
      ['b@example.org', 'a@example.org'],
    )
    for (const { contact, email } of body.data.emails) {
      assert.match(contact.id, UUID_V7)
      assert.match(email, UUID_V7)
    }
    assert.match(body.data.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  test('stores the mail with its state, before it answers', async (service) => {
    const to = { name: 'Ada', email: 'stored@example.org' }
    const { contact, email } = await sent(service, { to, reply: ' Help@Example.org ' })
    const { project } = service
    assert.is(contact.email, 'stored@example.org')
    assert.is(contact.project_id, project.id)
    assert.equal(
      [email.status, email.type, email.source_type, email.subject, email.html],
      ['PENDING', 'TRANSACTIONAL', 'TRANSACTIONAL', 'Hello', '<p>Hello</p>'],
    )
    assert.equal(
      [email.to_email, email.to_name, email.from, email.from_name, email.reply_to],
      ['stored@example.org', 'Ada', `hello@${project.domain}`, null, 'help@example.org'],
    )
    assert.is(email.message_id, `<${email.id}@${project.domain}>`)
  })

  test('ignores fields that it does not know', async (service) => {
    assert.is((await send(service, { color: 'red', projectId: randomUUID() })).status, 200)
  })

  test('takes a subject of 998 characters', async (service) => {
    const subject = 'ä'.repeat(998)
    assert.is((await sent(service, { subject })).email.subject, subject)
  })

  test('treats null as left out where a field is optional', async (service) => {
    const optional = ['template', 'name', 'subscribed', 'data', 'headers', 'reply', 'attachments']
    const nulls = Object.fromEntries(optional.map((field) => [field, null]))
    assert.is((await send(service, nulls)).status, 200)
  })

  for (const [what, [fields, errors]] of Object.entries(BAD_FIELDS)) {
    test(`refuses ${what} and stores nothing`, async (service) => {
      const answer = await withoutTrace(service, () => send(service, { ...fields }))
      assertRefused(answer, 422, 'VALIDATION_ERROR')
      assert.equal(fieldErrors(answer), errors)
    })
  }

  for (const [what, status, code, body] of BAD_BODIES) {
    test(`refuses a request whose body is ${what}`, async (service) => {
      const options = { key: service.project.secret, headers: { 'content-type': 'application/json' }, body }
      assertRefused(
        await withoutTrace(service, () => service.call('POST', '/v1/send', options)),
        status,
        code,
      )
    })
  }

  test('tells the type that was received, and never the value', async (service) => {
    const answer = await send(service, { subscribed: 'sk_secret', to: [{ email: 7 }] })
    assert.equal(
      answer.body.error.errors.map(({ received }: { received: string }) => received),
      ['number', 'string'],
    )
    assert.not.match(answer.text, 'sk_secret')
  })

  test('keeps projects apart: the same address is a contact of each', async (service) => {
    const other = await service.newProject()
    const mine = await sent(service, { to: 'shared@example.org' })
    const theirs = await sent(service, { to: 'shared@example.org' }, other)
    assert.is.not(mine.contact.id, theirs.contact.id)
    assert.is(theirs.contact.project_id, other.id)
  })
})

scenario('The mutation sendEmail', start, (test) => {
  test('does what POST /v1/send does', async (service) => {
    const { body } = await sendByGraphQL(service, { to: ['Ada <graphql@example.org>'] })
    const [{ contact, email }] = body.data.sendEmail.emails
    assert.is(contact.email, 'graphql@example.org')
    assert.is((await stored(service, email)).email.to_name, 'Ada')
    assert.ok(body.data.sendEmail.timestamp)
  })

  test('takes recipients as literals too', async (service) => {
    const { domain, secret } = service.project
    const query = `mutation { sendEmail(input: { to: [{ email: "literal@example.org", name: "Li" }, "b@example.org"],
      from: "hello@${domain}", subject: "Hi {{plan}}", body: "x", data: { plan: "pro" } }) { emails { email } } }`
    const { body } = await service.as(secret).graphql(query)
    const { email, contact } = await stored(service, body.data.sendEmail.emails[0].email)
    assert.equal([email.to_name, email.subject, contact.data], ['Li', 'Hi pro', { plan: 'pro' }])
  })

  test('puts the same field errors into the extensions of its error', async (service) => {
    const fields = { to: ['a@b.co', 'x'], subject: 'a\nb' }
    const { body, headers } = await withoutTrace(service, () => sendByGraphQL(service, fields))
    const rest = await send(service, fields)
    const [{ extensions }] = body.errors
    assert.is(extensions.code, 'VALIDATION_ERROR')
    assert.is(extensions.statusCode, 422)
    assert.is(extensions.requestId, headers.get('x-request-id'))
    assert.equal(extensions.errors, rest.body.error.errors)
    assert.is(body.errors[0].message, rest.body.error.message)
  })

  test('puts details and suggestion there as well', async (service) => {
    const fields = { from: 'hello@unverified.example' }
    const { body } = await withoutTrace(service, () => sendByGraphQL(service, fields))
    const rest = await send(service, fields)
    const { requestId, ...extensions } = body.errors[0].extensions
    const { requestId: _, message, ...expected } = rest.body.error
    assert.ok(requestId)
    assert.is(body.errors[0].message, message)
    assert.equal({ ...expected, message: undefined }, { ...extensions, message: undefined })
    assert.equal(extensions.details, { reason: 'domain_not_verified', domain: 'unverified.example' })
  })

  test('refuses fields that it does not know', async (service) => {
    const { body } = await withoutTrace(service, () => sendByGraphQL(service, { color: 'red' }))
    assert.is(body.errors[0].extensions.code, 'BAD_REQUEST')
  })
})

scenario('A message that was sent', startService, (test) => {
  test('reaches its receiver as it was asked for', async (service) => {
    const { body } = await service.as().post(
      '/v1/send',
      sendBody(service.project, {
        to: '"Lovelace, Ada" <ada@example.org>',
        from: `Grüße 🎉 <hello@${service.project.domain}>`,
        subject: 'Überraschung für {{name}} 🎁',
        body: '<p>Hello {{name}}</p>',
        reply: 'help@example.org',
        headers: { 'X-Campaign': 'spring', 'X-Greeting': 'schöne Grüße' },
        attachments: [
          {
            filename: 'naïve café.txt',
            contentType: 'text/plain',
            content: Buffer.from('Hallo').toString('base64'),
          },
        ],
      }),
    )
    const { message } = await delivered(service, body.data.emails[0].email)
    assert.equal(message.from, { name: 'Grüße 🎉', address: `hello@${service.project.domain}` })
    assert.equal(message.to, [{ name: 'Lovelace, Ada', address: 'ada@example.org' }])
    assert.is(message.replyTo?.[0]?.address, 'help@example.org')
    assert.is(message.subject, 'Überraschung für Lovelace, Ada 🎁')
    assert.match(message.html ?? '', '<p>Hello Lovelace, Ada</p>')
    assert.match(message.text ?? '', 'Hello Lovelace, Ada')
    const headers = new Map(message.headers.map(({ key, value }) => [key, value]))
    assert.is(headers.get('x-campaign'), 'spring')
    assert.is(decodeWords(headers.get('x-greeting') ?? ''), 'schöne Grüße')
    const [file] = message.attachments
    assert.is(file?.filename, 'naïve café.txt')
    assert.is(Buffer.from(file?.content as ArrayBuffer).toString(), 'Hallo')
  })
})
