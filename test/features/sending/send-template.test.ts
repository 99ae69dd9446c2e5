import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { fieldErrors, send, sendByGraphQL, sent, templateOf, withoutTrace } from './send-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

/** Leaves everything to the template. */
const BARE = { from: undefined, subject: undefined, body: undefined }

const BROKEN: [field: 'subject' | 'body', template: string, message: RegExp][] = [
  ['body', '<p>\n{{#vip}}\n</p>', /Unclosed section "vip" \(line 2\)/],
  ['body', '<p>\n\n{{name</p>', /Unclosed tag \(line 3\)/],
  ['body', '{{/vip}}', /Unopened section "vip" \(line 1\)/],
  ['subject', 'Hello {{name', /Unclosed tag \(line 1\)/],
]

scenario('A send with a template', start, (test) => {
  test('takes everything from it', async (service) => {
    const template = await templateOf(service, {
      subject: 'Hi {{plan}}',
      body: '<p>{{plan}}</p>',
      fromName: 'Template',
      replyTo: 'template-reply@example.org',
    })
    const { email } = await sent(service, { ...BARE, template, data: { plan: 'pro' } })
    assert.equal(
      [email.subject, email.html, email.from, email.from_name, email.reply_to, email.template_id],
      [
        'Hi pro',
        '<p>pro</p>',
        `template@${service.project.domain}`,
        'Template',
        'template-reply@example.org',
        template,
      ],
    )
  })

  for (const [field, value, column, result] of [
    ['subject', 'Own {{x ?? subject}}', 'subject', 'Own subject'],
    ['body', '<i>own</i>', 'html', '<i>own</i>'],
    ['reply', 'own@example.org', 'reply_to', 'own@example.org'],
  ] as const) {
    test(`prefers the ${field} of the request`, async (service) => {
      const template = await templateOf(service, { replyTo: 'template-reply@example.org' })
      const { email } = await sent(service, { ...BARE, template, [field]: value })
      assert.is(email[column], result)
      const others = {
        subject: 'Template subject',
        html: '<p>Template body</p>',
        reply_to: 'template-reply@example.org',
      }
      assert.equal(
        { subject: email.subject, html: email.html, reply_to: email.reply_to },
        { ...others, [column]: result },
      )
    })
  }

  test('finds it whatever the case of its id', async (service) => {
    const template = await templateOf(service)
    assert.is(
      (await sent(service, { ...BARE, template: template.toUpperCase() })).email.template_id,
      template,
    )
  })

  test('is 404 when there is no such template', async (service) => {
    const answer = await withoutTrace(service, () => send(service, { template: randomUUID() }))
    assertRefused(answer, 404, 'TEMPLATE_NOT_FOUND')
  })

  test("is 404 for another project's template", async (service) => {
    const template = await templateOf(service, {}, await service.newProject())
    const answer = await withoutTrace(service, () => send(service, { ...BARE, template }))
    assertRefused(answer, 404, 'TEMPLATE_NOT_FOUND')
  })

  test('is 404 in GraphQL too', async (service) => {
    const { body } = await sendByGraphQL(service, { template: randomUUID() })
    assert.equal(
      [body.errors[0].extensions.code, body.errors[0].extensions.statusCode],
      ['TEMPLATE_NOT_FOUND', 404],
    )
  })
})

scenario('The syntax of a message', start, (test) => {
  for (const [field, template, message] of BROKEN) {
    test(`is checked before anything is stored: ${JSON.stringify(template)} as ${field}`, async (service) => {
      const answer = await withoutTrace(service, () => send(service, { [field]: template }))
      assert.equal(fieldErrors(answer), [[field, 'custom']])
      assert.match(answer.body.error.errors[0].message, message)
    })
  }

  test('that comes to too much is refused as too large', async (service) => {
    const data = { l: Array.from({ length: 1_000 }, () => 1) }
    const body = `${'{{#l}}'.repeat(5)}x${'{{/l}}'.repeat(5)}`
    assertRefused(await withoutTrace(service, () => send(service, { body, data })), 413, 'PAYLOAD_TOO_LARGE')
  })
})

/** What the service itself says of a contact, whatever its data holds. */
const ALWAYS_THERE = [
  'id',
  'email',
  'svc_id',
  'svc_email',
  'subscribed',
  'unsubscribeUrl',
  'subscribeUrl',
  'manageUrl',
]

scenario('The variables of a message', start, (test) => {
  test('are the data of the request and of the contact, under both names', async (service) => {
    const to = 'both@example.org'
    await sent(service, { to, data: { plan: 'pro', city: 'Berlin' } })
    const { email } = await sent(service, {
      to,
      data: { plan: 'max' },
      body: '{{plan}} {{data.plan}} {{city}} {{data.city}} {{missing}}{{data.missing}}|',
    })
    assert.is(email.html, 'max max Berlin Berlin |')
  })

  test('are escaped in the body and plain in the subject', async (service) => {
    const name = `<b>"Tom" & 'Jerry'</b>`
    const { email } = await sent(service, {
      data: { name },
      subject: '{{name}}',
      body: '{{name}} {{{name}}} {{&name}}',
    })
    assert.is(email.subject, name)
    assert.is(email.html, `&lt;b&gt;&quot;Tom&quot; &amp; &#39;Jerry&#39;&lt;/b&gt; ${name} ${name}`)
  })

  test('have fallbacks', async (service) => {
    const { email } = await sent(service, {
      to: 'fallback@example.org',
      data: { empty: '', nothing: null },
      subject: 'Hi {{first ?? friend}}',
      body: '{{empty ?? a}} {{nothing ?? "b c"}} {{data.x ?? d}} {{name ?? e}}',
    })
    assert.is(email.subject, 'Hi friend')
    assert.is(email.html, 'a b c d e')
  })

  test('make sections and loops', async (service) => {
    const { email } = await sent(service, {
      data: { items: [{ n: 'a' }, { n: 'b' }], vip: false },
      body: '<ul>\n{{#items}}\n<li>{{n}}</li>\n{{/items}}\n</ul>{{#vip}}x{{/vip}}{{^vip}}y{{/vip}}',
    })
    assert.is(email.html, '<ul>\n<li>a</li>\n<li>b</li>\n</ul>y')
  })

  test('always tell who the contact is and how to unsubscribe', async (service) => {
    const body = ALWAYS_THERE.map((name) => `{{${name}}}`).join(' ')
    const { contact, email } = await sent(service, { to: 'always@example.org', body, subscribed: true })
    const [id, address, svcId, svcEmail, subscribed, ...links] = email.html.split(' ')
    assert.equal(
      [id, svcId, address, svcEmail],
      [contact.id, contact.id, 'always@example.org', 'always@example.org'],
    )
    assert.is(subscribed, 'true')
    for (const [index, page] of ['unsubscribe', 'subscribe', 'manage'].entries()) {
      assert.match(links[index], new RegExp(`^${service.url}/${page}/[\\w-]{80,}$`))
      assert.is((await fetch(links[index])).status, 200)
    }
  })

  test('of the service win over data of the same name', async (service) => {
    const data = Object.fromEntries(ALWAYS_THERE.map((name) => [name, 'forged']))
    const body = ALWAYS_THERE.map((name) => `{{${name}}}`).join(' ')
    const { email } = await sent(service, { to: 'winner@example.org', body, data })
    assert.not.match(email.html, 'forged')
  })

  test('tell the state that the request itself brings about', async (service) => {
    const to = 'state@example.org'
    const body = '{{subscribed}}'
    assert.is((await sent(service, { to, body })).email.html, 'false')
    assert.is((await sent(service, { to, body, subscribed: true })).email.html, 'true')
    assert.is((await sent(service, { to, body })).email.html, 'true')
  })

  test("hold the recipient's name, which data can replace and null cannot", async (service) => {
    const to = { email: 'named@example.org', name: 'Ada' }
    const body = '{{name}}|{{data.name}}'
    const first = await sent(service, { to, body })
    assert.is(first.email.html, 'Ada|')
    assert.equal(first.contact.data, {})
    assert.is((await sent(service, { to, body, data: { name: null } })).email.html, 'Ada|')
    assert.is((await sent(service, { to, body, data: { name: 'Countess' } })).email.html, 'Countess|Countess')
  })

  test('are never run as templates', async (service) => {
    const evil = '{{email}} {{{secret}}} {{#x}}'
    const { email } = await sent(service, {
      to: { email: 'once@example.org', name: '{{svc_id}}' },
      data: { evil, secret: 'hidden' },
      subject: '{{evil}} {{name}}',
      body: '{{{evil}}} {{{name}}}',
    })
    assert.is(email.subject, `${evil} {{svc_id}}`)
    assert.is(email.html, `${evil} {{svc_id}}`)
  })

  test('keep a subject on one line', async (service) => {
    const { email } = await sent(service, { data: { x: 'a\r\nBcc: b@c.de\n\nd' }, subject: 'Hi {{x}}' })
    assert.is(email.subject, 'Hi a Bcc: b@c.de d')
  })

  test('named like what every object has do not break anything and leak nothing', async (service) => {
    const names = [
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      'constructor.constructor',
      'data.__proto__',
    ]
    const body = names.map((name) => `[{{{${name}}}}{{#${name}}}x{{/${name}}}]`).join('')
    assert.is((await sent(service, { to: 'clean@example.org', body })).email.html, '[][][][][][]')
    const answer = await service.as().post(
      '/v1/send',
      `{"to":"polluted@example.org","from":"a@${service.project.domain}","subject":"s",
        "body":"{{__proto__.x}} {{constructor}} {{toString}} {{x}} {{data.__proto__.x}}",
        "data":{"__proto__":{"x":1},"constructor":"c","toString":"t","hasOwnProperty":1}}`,
    )
    assert.is(answer.status, 200, answer.text)
    const [row] = await service.sql(
      `select html, data::text from emails e join email_contents c on c.email_id = e.id
       join contacts p on p.id = e.contact_id where to_email = 'polluted@example.org'`,
    )
    assert.is(row?.html, '1 c t  1')
    assert.equal(Object.keys(JSON.parse(row?.data)).sort(), [
      '__proto__',
      'constructor',
      'hasOwnProperty',
      'toString',
    ])
  })
})
