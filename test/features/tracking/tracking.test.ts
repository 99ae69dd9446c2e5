import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { delivered, sent, templateOf } from '../sending/send-support.ts'
import {
  APPLE_PROXY,
  ask,
  mailed,
  recorded,
  setTracking,
  startTracking,
  trackedIn,
  waitingHits,
} from './tracking-support.ts'

scenario('A tracked message', startTracking, (test) => {
  test('leads through the service to where its links lead, and counts opens and clicks', async (service) => {
    const mail = await mailed(service, 'ada@example.org')
    assert.is(mail.links.length, 2)
    const pixel = await ask(service, mail.pixel)
    assert.is(pixel.status, 200)
    assert.is(pixel.headers.get('content-type'), 'image/gif')
    assert.match(pixel.headers.get('cache-control') ?? '', 'no-store')
    const click = await ask(service, mail.links[0] ?? '')
    assert.is(click.status, 302)
    assert.is(click.headers.get('location'), 'https://shop.example/a?x=1&y=2')
    assert.match(click.headers.get('cache-control') ?? '', 'no-store')
    const { events, row } = await recorded(service, mail.id, 2)
    assert.equal(
      events.map(({ name, data }) => [name, data.isFirst, data.bot, data.link]),
      [
        ['email.open', true, undefined, undefined],
        ['email.click', true, undefined, 'https://shop.example/a?x=1&y=2'],
      ],
    )
    assert.equal([row.status, row.opens, row.clicks], ['CLICKED', 1, 1])
    assert.ok(row.opened_at && row.clicked_at)
    assert.equal(await waitingHits(service, mail.id), [])
    const { isFirst, ...facts } = events[0]?.data ?? {}
    assert.equal(facts, {
      emailId: mail.id,
      subject: row.subject,
      from: row.from,
      messageId: row.message_id,
      templateId: null,
      campaignId: null,
      sourceType: 'TRANSACTIONAL',
    })
  })

  test('counts what is repeated, the first ones once', async (service) => {
    const mail = await mailed(service, 'again@example.org')
    for (let times = 0; times < 3; times += 1) await ask(service, mail.pixel)
    const { row: once } = await recorded(service, mail.id, 3)
    assert.equal([once.status, once.opens], ['OPENED', 3])
    await ask(service, mail.pixel)
    await ask(service, mail.links[1] ?? '')
    const { events, row } = await recorded(service, mail.id, 5)
    assert.equal(
      events.map(({ data }) => data.isFirst),
      [true, false, false, false, true],
    )
    assert.equal(row.opened_at, once.opened_at)
    assert.equal([row.status, row.opens, row.clicks], ['CLICKED', 4, 1])
    service.clock.advance(60_000)
    await ask(service, mail.pixel)
    assert.is((await recorded(service, mail.id, 6)).row.status, 'CLICKED')
  })

  test('keeps what machines do apart', async (service) => {
    const mail = await mailed(service, 'machine@example.org')
    await ask(service, mail.pixel, { 'user-agent': APPLE_PROXY })
    await ask(service, mail.links[0] ?? '', { 'user-agent': 'Barracuda Sentinel (EE)' })
    const { events, row } = await recorded(service, mail.id, 2)
    for (const { data } of events) assert.equal([data.bot, data.isFirst], [true, false])
    assert.equal([row.status, row.opens, row.clicks, row.opened_at], ['SENT', 0, 0, null])
    await ask(service, mail.pixel)
    const later = await recorded(service, mail.id, 3)
    assert.is(later.events[2]?.data.isFirst, true)
    assert.is(later.row.status, 'OPENED')
  })

  test('takes clicks on different links at the same moment for those of a machine', async (service) => {
    const mail = await mailed(service, 'scanner@example.org')
    await Promise.all([mail.pixel, ...mail.links].map((path) => ask(service, path)))
    const { events, row } = await recorded(service, mail.id, 3)
    assert.ok(events.every(({ data }) => data.bot === true))
    assert.equal([row.status, row.opens, row.clicks], ['SENT', 0, 0])
  })

  test('counts nothing for HEAD', async (service) => {
    const mail = await mailed(service, 'head@example.org')
    assert.is((await ask(service, mail.pixel, {}, 'HEAD')).status, 200)
    const click = await ask(service, mail.links[0] ?? '', {}, 'HEAD')
    assert.is(click.status, 302)
    assert.is(click.headers.get('location'), 'https://shop.example/a?x=1&y=2')
    assert.equal(await waitingHits(service, mail.id), [])
  })

  test('has a text part with the links as they were written', async (service) => {
    const body = '<body><p>Go <a href="https://shop.example/a?x=%27&amp;y=2">there</a></p></body>'
    const mail = await mailed(service, 'text@example.org', body)
    const { message } = await delivered(service, mail.id)
    assert.is(message.text?.trim(), 'Go there [https://shop.example/a?x=%27&y=2]')
    assert.match(message.html ?? '', `${service.url}/t/c/`)
    assert.match(mail.html, /<img [^>]*><\/body>$/)
    const plain = await mailed(service, 'plain@example.org', 'Hello\nyou')
    assert.match(plain.html, /^Hello<br>\nyou<img [^>]*>$/)
    assert.is((await delivered(service, plain.id)).message.text?.trim(), 'Hello\nyou')
  })

  test('that bounced stays so', async (service) => {
    const mail = await mailed(service, 'bounced@example.org')
    await service.sql(`update emails set status = 'BOUNCED' where id = $1`, [mail.id])
    await ask(service, mail.pixel)
    const { row } = await recorded(service, mail.id, 1)
    assert.equal([row.status, row.opens], ['BOUNCED', 1])
  })

  test('that is deleted still leads on, and its hits are forgotten', async (service) => {
    const mail = await mailed(service, 'deleted@example.org')
    await service.sql('delete from emails where id = $1', [mail.id])
    const click = await ask(service, mail.links[0] ?? '')
    assert.is(click.headers.get('location'), 'https://shop.example/a?x=1&y=2')
    const other = await mailed(service, 'other@example.org')
    await ask(service, other.pixel)
    await recorded(service, other.id, 1)
    assert.equal(await waitingHits(service, mail.id), [])
  })
})

const BODY = '<a href="https://shop.example/">Shop</a>'

scenario(
  'Modes of tracking',
  () => startTracking({ ROLES: 'http' }),
  (test) => {
    test('say which messages are tracked', async (service) => {
      for (const [mode, transactional, marketing] of [
        ['ENABLED', true, true],
        ['DISABLED', false, false],
        ['MARKETING_ONLY', false, true],
      ] as const) {
        const project = await service.newProject()
        await setTracking(service, project, mode)
        const plain = await sent(service, { to: 'mode@example.org', body: BODY }, project)
        assert.is(trackedIn(service, plain.email.html).links.length, transactional ? 1 : 0, mode)
        assert.is(trackedIn(service, plain.email.html).pixel !== '', transactional, mode)
        if (!transactional) assert.is(plain.email.html, BODY)
        const template = await templateOf(service, { body: BODY, type: 'MARKETING' }, project)
        const fields = {
          to: 'mode@example.org',
          template,
          subject: undefined,
          body: undefined,
          subscribed: true,
        }
        const { email } = await sent(service, { ...fields, from: undefined }, project)
        const { pixel, links } = trackedIn(service, email.html)
        assert.equal([pixel !== '', links.length], [marketing, marketing ? 1 : 0], mode)
        assert.match(email.html, '/unsubscribe/')
      }
    })

    test('leave the preview of a template as it is', async (service) => {
      const query = `query ($input: PreviewTemplateInput!) { previewTemplate(input: $input) { html } }`
      const input = { subject: 'x', body: BODY, type: 'TRANSACTIONAL' }
      const { body } = await service.graphql(query, { input }, { key: service.project.secret })
      assert.is(body.data?.previewTemplate.html, BODY, JSON.stringify(body))
    })
  },
)

scenario(
  'Placeholders of links',
  () => startTracking({ ROLES: 'http' }),
  (test) => {
    const send = async (service: Parameters<typeof sent>[0], body: string, data: object = {}) => {
      const { email } = await sent(service, { to: 'data@example.org', body, data })
      const { links } = trackedIn(service, email.html)
      return {
        html: String(email.html),
        targets: links.map((link) => new URLSearchParams(link.split('?')[1]).get('u')),
      }
    }

    test('are filled in loops and sections, whatever the data', async (service) => {
      const body =
        '{{#items}}<a href="https://a.example/">{{n}}</a>{{/items}}{{^none}}<a href=\'https://b.example/\'>b</a>{{/none}}'
      const items = [
        { n: 1, '0': 'https://evil.example/' },
        { n: 2, links: ['https://evil.example/'] },
      ]
      const { targets } = await send(service, body, { items, links: ['https://evil.example/'] })
      assert.equal(targets, ['https://a.example/', 'https://a.example/', 'https://b.example/'])
    })

    test('cannot be forged by a request', async (service) => {
      for (const data of [
        { '\0': ['https://evil.example/'] },
        { items: [{ '\0': ['https://evil.example/'] }] },
      ]) {
        const answer = await service.call('POST', '/v1/send', {
          key: service.project.secret,
          body: { to: 'x@example.org', from: `x@${service.project.domain}`, subject: 'x', body: BODY, data },
        })
        assert.is(answer.status, 422)
      }
    })

    test('are not made in templates with other delimiters, which stay as they are', async (service) => {
      const body = '{{=<% %>=}}<a href="https://a.example/">{{x}} <% name %></a>'
      const { html, targets } = await send(service, body, { name: 'Ada' })
      assert.equal(targets, [])
      assert.match(html, '<a href="https://a.example/">{{x}} Ada</a>')
    })

    test('leave links to the pages of the service alone', async (service) => {
      const { html, targets } = await send(
        service,
        `<a href="{{unsubscribeUrl}}">no</a><a href="${service.url}/manage/x">m</a><a href="https://a.example/">a</a>`,
      )
      assert.equal(targets, ['https://a.example/'])
      assert.match(html, `<a href="${service.url}/unsubscribe/`)
      assert.match(html, `<a href="${service.url}/manage/x">`)
    })
  },
)
