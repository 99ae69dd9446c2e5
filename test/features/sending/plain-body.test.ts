import * as assert from 'uvu/assert'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { delivered, sent, templateOf } from './send-support.ts'

const start = sharedStart(() => startService({}))

scenario('A body without HTML', start, (test) => {
  test('keeps its line breaks in both parts, and its entities in the HTML', async (service) => {
    const body = 'Hello {{name}},\n\nTea &amp; cake: 3 &lt; 5\r\nBye'
    const { email } = await sent(service, { body, data: { name: 'A <b>\nC' } })
    const { message } = await delivered(service, email.id)
    assert.is(
      message.html?.trimEnd(),
      'Hello A &lt;b&gt;<br>\nC,<br>\n<br>\nTea &amp; cake: 3 &lt; 5<br>\nBye',
    )
    assert.is(message.text?.trimEnd(), 'Hello A <b>\nC,\n\nTea & cake: 3 < 5\nBye')
  })

  test('keeps them above the footer of marketing mail', async (service) => {
    const to = 'ada@example.org'
    const subscriber = { email: to, subscribed: true }
    await service.as().post('/contacts', subscriber)
    const template = await templateOf(service, { type: 'MARKETING' })
    const { email } = await sent(service, { to, template, body: 'One\nTwo' })
    const { message } = await delivered(service, email.id)
    assert.match(message.html ?? '', /^One<br>\nTwo\n<p lang="en"/)
    assert.match(message.text ?? '', /^One\nTwo\n\nYou receive/)
  })

  test('is shown by the preview as it is sent', async ({ as, project }) => {
    const query = 'query ($input: PreviewTemplateInput!) { previewTemplate(input: $input) { html text } }'
    const input = { subject: 'Hello', body: 'One\nTwo', type: 'TRANSACTIONAL' }
    const { body, text } = await as(project).graphql(query, { input })
    assert.equal(body.data?.previewTemplate, { html: 'One<br>\nTwo', text: 'One\nTwo' }, text)
  })

  test('is left alone with a single tag in it', async (service) => {
    const { email } = await sent(service, { body: 'One\n<b>Two</b>' })
    assert.is(email.html, 'One\n<b>Two</b>')
  })
})

scenario('The Message-ID', start, (test) => {
  test('is the email id at the domain of its sender, in one line', async (service) => {
    const { project } = service
    const { email } = await sent(service, {})
    assert.is(email.message_id, `<${email.id}@${project.domain}>`)
    const { raw } = await delivered(service, email.id)
    assert.ok(raw.split('\r\n').includes(`Message-ID: <${email.id}@${project.domain}>`))
    assert.not.ok(raw.includes(project.id))
  })
})
