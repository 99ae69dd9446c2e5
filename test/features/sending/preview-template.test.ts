import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { assertGraphQLRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Answer, type Body, type Service, startService } from '../../support/service.ts'
import { sent, templateOf, withoutTrace } from './send-support.ts'

const start = () => startService({ ROLES: 'http', MAX_MESSAGE_MB: '1' })

const PREVIEW = `query ($input: PreviewTemplateInput!) {
  previewTemplate(input: $input) { subject html text usedVariables missingVariables }
}`

const preview = (service: Service, input: object, project = service.project): Promise<Answer> =>
  service.as(project).graphql(PREVIEW, { input })

async function previewed(service: Service, input: object): Promise<Body> {
  const { body, text } = await preview(service, input)
  assert.ok(body.data?.previewTemplate, text)
  return body.data.previewTemplate
}

/** A preview of a transactional message, which has no footer. */
const plain = (service: Service, body: string, data: object = {}, subject = 'Hello') =>
  previewed(service, { type: 'TRANSACTIONAL', subject, body, data })

/** The variables of a body, with the data for it. */
async function variables(service: Service, body: string, data: object = {}) {
  const { usedVariables, missingVariables } = await plain(service, body, data)
  return { used: usedVariables, missing: missingVariables }
}

/** A contact of a project, made by sending to it. */
async function contactOf(service: Service, data: object, project = service.project): Promise<Body> {
  const to = `${randomUUID()}@example.org`
  return (await sent(service, { to, data, subscribed: true }, project)).contact
}

async function errorsOf(service: Service, input: object): Promise<[string, string][]> {
  const { errors } = assertGraphQLRefused(await preview(service, input), 422, 'VALIDATION_ERROR')
  return errors.map(({ field, code }: Body) => [field, code])
}

scenario('previewTemplate', start, (test) => {
  test('renders subject, body and text with the data', async (service) => {
    const answer = await plain(
      service,
      '<h1>Hi {{name}}</h1><p>{{{raw}}} <a href="https://example.org/{{plan}}">Go</a></p>',
      { name: 'Ada & Co', plan: 'pro', raw: '<b>bold</b>' },
      '{{name}} is {{data.plan}}',
    )
    assert.equal(answer, {
      subject: 'Ada & Co is pro',
      html: '<h1>Hi Ada &amp; Co</h1><p><b>bold</b> <a href="https://example.org/pro">Go</a></p>',
      text: 'Hi Ada & Co\n\nbold Go [https://example.org/pro]',
      usedVariables: ['name', 'data.plan', 'raw', 'plan'],
      missingVariables: [],
    })
  })

  test('renders a stored template, and fields of the input win', async (service) => {
    const fields = { subject: 'Hi {{name}}', body: '<p>{{x ?? stored}}</p>', type: 'MARKETING' }
    const templateId = await templateOf(service, fields)
    const stored = await previewed(service, { templateId, data: { name: 'Ada' } })
    assert.is(stored.subject, 'Hi Ada')
    assert.match(stored.html, '<p>stored</p>')
    assert.match(stored.html, 'Unsubscribe')
    const changed = { templateId, subject: 'New', body: '<p>New</p>', type: 'HEADLESS' }
    const { subject, html } = await previewed(service, changed)
    assert.equal({ subject, html }, { subject: 'New', html: '<p>New</p>' })
  })

  test('is MARKETING without a template and a type', async (service) => {
    assert.match((await previewed(service, { subject: 'x', body: '<p>x</p>' })).html, 'Unsubscribe')
  })

  for (const type of ['MARKETING', 'HEADLESS', 'TRANSACTIONAL']) {
    test(`shows what a contact would get: ${type}`, async (service) => {
      const contact = await contactOf(service, { plan: 'pro', old: 1, tag: '<i>' })
      const fields = {
        type,
        subject: 'Hi {{name ?? you}} {{tag}}',
        body: '<p>{{plan}} {{data.plan}} {{old}}{{email}}{{id}}{{subscribed}}{{once}}{{tag}}</p>',
      }
      const template = await templateOf(service, fields)
      const data = { plan: 'team', old: null, tag: '', id: 'x', once: { value: 7, persistent: false } }
      const shown = await previewed(service, { templateId: template, contactId: contact.id, data })
      const bare = { from: undefined, subject: undefined, body: undefined }
      const { email } = await sent(service, { ...bare, template, to: contact.email, data })
      assert.is(shown.subject, email.subject)
      assert.is(withoutTokens(shown.html), withoutTokens(email.html))
      assert.match(shown.html, `team team ${contact.email}${contact.id}true7&lt;i&gt;`)
    })
  }

  test('is shown for people who are not subscribed as well', async (service) => {
    const { contact } = await sent(service, { to: `${randomUUID()}@example.org`, subscribed: false })
    const input = { subject: 'x', body: '{{subscribed}}', contactId: contact.id }
    assert.match((await previewed(service, input)).html, /^false/)
    assert.match((await previewed(service, { subject: 'x', body: '{{subscribed}}' })).html, /^true/)
  })

  test('stores nothing', async (service) => {
    const { id: contactId } = await contactOf(service, { plan: 'pro' })
    const templateId = await templateOf(service)
    const read = () => service.sql('select * from contacts where id = $1', [contactId])
    const before = await read()
    await withoutTrace(service, () => previewed(service, { templateId, contactId, data: { plan: 'team' } }))
    assert.equal(await read(), before)
  })

  test("links of a contact's preview are the contact's; opening them changes nothing", async (service) => {
    const { id, email } = await contactOf(service, {})
    const { html } = await previewed(service, { subject: 'x', body: '{{unsubscribeUrl}}', contactId: id })
    const path = new URL(html).pathname
    const subscribed = async () =>
      (await service.sql('select subscribed from contacts where email = $1', [email]))[0]?.subscribed
    assert.is((await service.call('GET', path)).status, 200)
    assert.is(await subscribed(), true)
    assert.is((await service.call('POST', path)).status, 200)
    assert.is(await subscribed(), false)
  })

  test('links of a preview for nobody look the same and lead to no one', async (service) => {
    const fields = { subject: 'x', body: '{{unsubscribeUrl}} {{subscribeUrl}} {{manageUrl}}' }
    const { html, missingVariables } = await previewed(service, fields)
    assert.equal(missingVariables, [])
    const [unsubscribe = '', subscribe = '', manage = ''] = html.split(' ')
    assert.match(unsubscribe, `${service.url}/unsubscribe/`)
    for (const link of [unsubscribe, subscribe, manage]) {
      assert.is((await service.call('GET', new URL(link).pathname)).status, 404)
    }
    assert.is((await service.call('POST', new URL(unsubscribe).pathname)).status, 404)
  })

  test('never runs data as a template', async (service) => {
    const contact = await contactOf(service, { name: '{{email}}', more: '{{#x}}' })
    const body = '{{name}} {{{name}}} {{more}} {{given}}'
    const input = { type: 'TRANSACTIONAL', subject: '{{name}}', body, contactId: contact.id }
    const answer = await previewed(service, { ...input, data: { given: '{{id}}' } })
    assert.is(answer.subject, '{{email}}')
    assert.is(answer.html, '{{email}} {{email}} {{#x}} {{id}}')
    assert.equal(answer.usedVariables, ['name', 'more', 'given'])
  })

  test('names each variable once, in the order of first use', async (service) => {
    const answer = await plain(service, '{{b}}{{a}}{{{c}}}{{&d}}{{ b }}{{! e }}', {}, '{{a}}')
    assert.equal(answer.usedVariables, ['a', 'b', 'c', 'd'])
    assert.equal(answer.missingVariables, ['a', 'b', 'c', 'd'])
  })

  test('a variable without a value is missing, whatever "without" means', async (service) => {
    const body = '{{a}}{{b}}{{c}}{{d}}{{e}}{{f.g}}{{f.h}}{{f.i}}{{toString}}'
    const data = { b: null, c: '', d: 0, e: false, f: { g: 1, h: '' } }
    const { missing } = await variables(service, body, data)
    assert.equal(missing, ['a', 'b', 'c', 'f.h', 'f.i', 'toString'])
  })

  test('a variable with a fallback is used but not missing', async (service) => {
    const body = '{{a ?? friend}}{{b ?? "x"}}{{#c ?? d}}{{/c ?? d}}'
    assert.equal(await variables(service, body), { used: ['a', 'b', 'c'], missing: [] })
    assert.equal(await variables(service, '{{a ?? x}}{{a}}'), { used: ['a'], missing: ['a'] })
    assert.equal(await variables(service, '{{a ?? x}}{{a}}', { a: 1 }), { used: ['a'], missing: [] })
  })

  test('variables of sections count, shown or not', async (service) => {
    const body = '{{#vip}}{{discount}}{{/vip}}{{^vip}}{{price}}{{#deep}}{{x}}{{/deep}}{{/vip}}'
    const used = ['vip', 'discount', 'price', 'deep', 'x']
    assert.equal(await variables(service, body), { used, missing: used })
    const missing = ['discount', 'x']
    assert.equal(await variables(service, body, { vip: false, price: 1, deep: [] }), { used, missing })
    assert.equal(await variables(service, body, { vip: true, price: 1, deep: { y: 1 } }), { used, missing })
  })

  test('variables of a loop are looked for in its items', async (service) => {
    const body = '{{#items}}{{title}}{{note}}{{none}}{{shop}}{{.}}{{/items}}'
    const items = [{ title: 'a' }, { title: 'b', note: 'n' }]
    const { used, missing } = await variables(service, body, { items, shop: 'S' })
    assert.equal(used, ['items', 'title', 'note', 'none', 'shop'])
    assert.equal(missing, ['none'])
    assert.equal((await variables(service, body)).missing, used)
    assert.equal((await variables(service, '{{#a}}{{b}}{{/a}}', { a: { b: 1 } })).missing, [])
  })

  test('what is always there is never missing', async (service) => {
    const names = ['id', 'email', 'svc_id', 'svc_email', 'subscribed', 'unsubscribeUrl', 'manageUrl']
    const { used, missing } = await variables(service, names.map((name) => `{{${name}}}`).join(''))
    assert.equal({ used, missing }, { used: names, missing: [] })
  })

  test('needs a template, or a subject and a body', async (service) => {
    assert.equal(await errorsOf(service, {}), [
      ['subject', 'required'],
      ['body', 'required'],
    ])
    assert.equal(await errorsOf(service, { subject: 'x' }), [['body', 'required']])
  })

  test('refuses what sending would refuse', async (service) => {
    assert.equal(await errorsOf(service, { subject: '{{x', body: 'x' }), [['subject', 'custom']])
    assert.equal(await errorsOf(service, { subject: 'x', body: '{{#x}}' }), [['body', 'custom']])
    assert.equal(await errorsOf(service, { subject: 'a\nb', body: 'x' }), [['subject', 'invalid_string']])
    assert.equal(await errorsOf(service, { templateId: 'x' }), [['templateId', 'invalid_string']])
    const loop = `{{#a}}${'{{#a}}'.repeat(5)}x{{x}}${'{{/a}}'.repeat(5)}{{/a}}`
    const many = { subject: 'x', body: loop, data: { a: Array.from({ length: 100 }, () => 1) } }
    assertGraphQLRefused(await preview(service, many), 413, 'PAYLOAD_TOO_LARGE')
    const large = { subject: 'x', body: '{{x}}{{x}}', data: { x: 'x'.repeat(600_000) } }
    assertGraphQLRefused(await preview(service, large), 413, 'PAYLOAD_TOO_LARGE')
  })

  test('sections that are not shown cannot cost more than sending may', async (service) => {
    const open = '{{^no}}{{/no}}{{#a}}'
    const body = `{{#no}}${open.repeat(6)}{{x}}${'{{/a}}'.repeat(6)}{{/no}}`
    const data = { a: Array.from({ length: 100 }, () => 1) }
    assertGraphQLRefused(await preview(service, { subject: 'x', body, data }), 413, 'PAYLOAD_TOO_LARGE')
  })

  test('shares what rendering may cost between all previews of a request', async (service) => {
    const input = {
      subject: 'x',
      type: 'TRANSACTIONAL',
      body: '{{#a}}{{.}}{{/a}}',
      data: { a: Array.from({ length: 60_000 }, () => 1) },
    }
    assert.is((await previewed(service, input)).html.length, 60_000)
    const fields = Array.from(
      { length: 15 },
      (_, index) => `a${index}: previewTemplate(input: $input) { html }`,
    )
    const query = `query ($input: PreviewTemplateInput!) { ${fields.join(' ')} }`
    const answer = await service.as().graphql(query, { input })
    assertGraphQLRefused(answer, 413, 'PAYLOAD_TOO_LARGE')
  })

  test('shows the same text part of a long body as of a short one', async (service) => {
    const row = '<p>Tea <b>and</b> cake</p>'
    const { text } = await plain(service, row.repeat(1_000))
    assert.is(text, Array.from({ length: 1_000 }, () => 'Tea and cake').join('\n\n'))
  })

  test('does not find a template or a contact that is not there', async (service) => {
    const other = await service.newProject()
    for (const templateId of [await templateOf(service, {}, other), randomUUID()]) {
      assertGraphQLRefused(await preview(service, { templateId }), 404, 'TEMPLATE_NOT_FOUND')
    }
    const foreign = await contactOf(service, { secret: 'x' }, other)
    for (const contactId of [foreign.id, randomUUID()]) {
      const input = { subject: '{{email}}', body: '{{secret}}', contactId }
      assertGraphQLRefused(await preview(service, input), 404, 'CONTACT_NOT_FOUND')
    }
  })

  test('needs a secret key, and works for a disabled project, which may still read', async (service) => {
    const { public: key } = service.project
    const input = { subject: 'x', body: 'x' }
    assertGraphQLRefused(await service.as(key).graphql(PREVIEW, { input }), 401, 'INVALID_API_KEY')
    const disabled = await service.newProject()
    await service.sql('update projects set disabled = true where id = $1', [disabled.id])
    assert.is((await preview(service, input, disabled)).body.data.previewTemplate.subject, 'x')
  })
})

/** The token in a link names the mail, which a preview is not. */
const withoutTokens = (html: string): string =>
  html.replaceAll(/\/(unsubscribe|subscribe|manage)\/[\w-]+/g, '/$1/…')
