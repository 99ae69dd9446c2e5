import { readFileSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import * as assert from 'uvu/assert'
import { delivered, send } from '../features/sending/send-support.ts'
import { IMAGES } from '../support/images.ts'
import { scenario } from '../support/scenario.ts'
import { type Service, startService, until } from '../support/service.ts'
import { assertSound, assertTabOrder, startBrowser, type Visit, visit } from './browser.ts'

type Shared = {
  browser: Browser
  service: Service
  /** Another one, from which mail really leaves. */
  leaving: Service
  /** A message with everything in it, and the path of its unsubscribe page. */
  mail: { id: string; unsubscribe: string }
  stop: () => Promise<void>
}

const BODY = `<!doctype html><html><body style="font-family: sans-serif">
<h1>Your order</h1><p>Thank you. <a id="ours" href="HERE/health/live" target="_self">Track the parcel</a></p>
<p><img id="shown" src="cid:sign" alt="A sign" width="40" height="40"></p>
<p><a href="{{unsubscribeUrl}}">Unsubscribe</a></p></body></html>`

const SCRIPT = "<p>Hello Grace</p><script>top.document.title = 'ran'</script><img src=x onerror=alert(1)>"

/** What is in the markup and the colours of GraphiQL itself, which are not ours. */
const RULES_OF_GRAPHIQL = {
  'color-contrast': 'its grey for names is too light on its own background',
  'nested-interactive': 'its tabs hold the buttons that close them',
}

const INLINE = { disposition: 'inline', contentId: 'sign' }

const base64 = (content: Buffer | string) => Buffer.from(content).toString('base64')

async function startMailing() {
  const service = await startService()
  const answer = await send(service, {
    to: { name: 'Ada', email: 'ada@example.org' },
    from: { name: 'Acme Shop', email: `shop@${service.project.domain}` },
    subject: 'Your order of ink and paper has been sent to you today, in two parcels',
    subscribed: true,
    body: BODY.replaceAll('HERE', service.url),
    headers: { 'X-Order': '1042' },
    attachments: [
      { filename: 'sign.png', content: base64(IMAGES.png), contentType: 'image/png', ...INLINE },
      { filename: 'Rechnung März.pdf', content: base64('%PDF-1.7 ink'), contentType: 'application/pdf' },
    ],
  })
  assert.is(answer.status, 200, answer.text)
  // The newest is listed first.
  await send(service, { to: 'grace@example.org', subject: 'Welcome', body: SCRIPT })
  const id = answer.body.data.emails[0].email
  const { message } = await delivered(service, id)
  await until('both are listed', async () => {
    const { body } = await service.call('GET', '/mailbox/messages')
    return body.data.length === 2
  })
  const unsubscribe = /\/unsubscribe\/[\w-]+/.exec(message.html ?? '')?.[0] ?? ''
  return { service, mail: { id, unsubscribe } }
}

async function start(): Promise<Shared> {
  const [browser, { service, mail }, leaving] = await Promise.all([
    startBrowser(),
    startMailing(),
    startService({ ROLES: 'http', SMTP_URL: 'smtp://user:password@localhost:2525' }),
  ])
  const stop = async () => {
    await Promise.all([browser.close(), service.stop(), leaving.stop()])
  }
  return { browser, service, leaving, mail, stop }
}

scenario('Pages in a browser', start, (test) => {
  /** A test of one page, which may go on from there. */
  const page = (
    name: string,
    urlOf: (shared: Shared) => string,
    body: (visit: Visit, shared: Shared) => Promise<void>,
    status = 200,
  ) =>
    test(name, async (shared) => {
      const visited = await visit(shared.browser, urlOf(shared), status)
      try {
        await body(visited, shared)
      } finally {
        await visited.close()
      }
    })
  const mailbox = ({ service, mail }: Shared, query = '') =>
    `${service.url}/mailbox${query.replace('ID', mail.id)}`

  page(
    '/ leads to the others',
    ({ service }) => `${service.url}/`,
    async (visited) => {
      await assertSound(visited, 'home')
      await assertTabOrder(visited, [
        'Mailwright',
        'Mailbox',
        'GraphQL',
        'API reference',
        'OpenAPI',
        'Health',
      ])
      await visited.page.getByRole('link', { name: 'Mailbox' }).press('Enter')
      await visited.page.waitForURL('**/mailbox')
    },
  )

  page('the mailbox lists mail', mailbox, async (visited) => {
    await assertSound(visited, 'mailbox')
    await assertTabOrder(visited, [
      ...['Mailwright', 'Mailbox', 'API', 'GraphQL', 'Search', 'Search', 'Refresh', 'Clear'],
      'Welcome',
    ])
  })

  for (const view of ['html', 'text', 'headers', 'source']) {
    page(
      `the mailbox shows the ${view} of a message`,
      (shared) => mailbox(shared, `?message=ID&view=${view}`),
      async (visited, { service }) => {
        await assertSound(visited, `message-${view}`)
        const shown = await visited.page.getByRole('article').innerText()
        assert.match(shown, `Acme Shop <shop@${service.project.domain}>`)
        const wanted = { html: '', text: 'Thank you.', headers: '1042', source: 'X-Order: 1042' }[view]
        assert.match(shown, wanted ?? '')
      },
    )
  }

  page('a search in the mailbox is typed and entered', mailbox, async ({ page }) => {
    await page.getByRole('searchbox').press('g')
    await page.keyboard.type('RACE@')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/mailbox?search=gRACE%40')
    assert.is(await page.locator('#messages li').count(), 1)
    assert.match(await page.locator('#messages').innerText(), '1 match')
    await page.getByRole('link', { name: 'Refresh' }).press('Enter')
    await page.getByRole('searchbox').fill('nothing like it')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Show all' }).press('Enter')
    await page.waitForURL('**/mailbox')
  })

  page('a message is opened and looked at by keyboard', mailbox, async (visited, { mail }) => {
    const { page } = visited
    await page.locator(`#m-${mail.id}`).press('Enter')
    await page.waitForURL(`**/mailbox?message=${mail.id}`)
    assert.is(await page.locator(`#m-${mail.id}`).getAttribute('aria-current'), 'true')
    await page.getByRole('link', { name: 'sign.png' }).focus()
    await assertTabOrder(visited, ['Rechnung März.pdf 12 bytes', 'HTML', 'Text', 'Headers', 'Source'])
    await page.keyboard.press('Enter')
    await page.waitForURL('**view=source')
  })

  const shows = (shared: Shared) => mailbox(shared, '?message=ID')

  page('a message shows its own images', shows, async ({ page }) => {
    const image = page.frameLocator('iframe').getByAltText('A sign')
    assert.is(await image.evaluate((shown) => 'naturalWidth' in shown && shown.naturalWidth), 1)
  })

  page('a message runs nothing', mailbox, async ({ page, complaints }) => {
    await page.getByRole('link', { name: 'Welcome' }).press('Enter')
    await page.frameLocator('iframe').getByText('Hello Grace').waitFor()
    assert.is(await page.title(), 'Welcome · Mailbox')
    assert.ok(complaints.some((text) => text.startsWith('Blocked script execution')))
  })

  page('a link in a message opens in a new tab', shows, async ({ page }, { service }) => {
    const opening = page.context().waitForEvent('page')
    await page.frameLocator('iframe').getByRole('link', { name: 'Track the parcel' }).click()
    const opened = await opening
    await opened.waitForURL(`${service.url}/health/live`)
    assert.is(await opened.evaluate('window.opener'), null)
    assert.match(page.url(), '/mailbox?message=')
  })

  page('an attachment is downloaded under its name', shows, async ({ page }) => {
    const downloading = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Rechnung' }).press('Enter')
    const download = await downloading
    assert.is(download.suggestedFilename(), 'Rechnung März.pdf')
    assert.is(readFileSync(await download.path(), 'utf8'), '%PDF-1.7 ink')
  })

  page(
    'the mailbox elsewhere says where mail goes',
    ({ leaving }) => `${leaving.url}/mailbox`,
    async (visited) => {
      await assertSound(visited, 'mailbox-elsewhere')
      const text = await visited.page.getByRole('main').innerText()
      assert.match(text, 'SMTP at localhost:2525')
      assert.not.match(text, 'password')
    },
  )

  page(
    'the unsubscribe page is answered by keyboard',
    ({ service, mail }) => service.url + mail.unsubscribe,
    async (visited, { service }) => {
      const { page } = visited
      await assertSound(visited, 'subscribed')
      const text = await page.getByRole('main').innerText()
      assert.match(text, `Acme Shop (shop@${service.project.domain}) may send emails to ada@example.org`)
      await assertTabOrder(visited, ['Unsubscribe'])
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor()
      await assertSound(visited, 'unsubscribed')
      await page.getByRole('button', { name: 'Subscribe again' }).press('Enter')
      await page.getByRole('heading', { name: 'You are subscribed' }).waitFor()
    },
  )

  page(
    'what is not there says so',
    ({ service }) => `${service.url}/nothing`,
    (visited) => assertSound(visited, 'nothing-there'),
    404,
  )

  page(
    'the description of the API',
    ({ service }) => `${service.url}/docs`,
    async (visited) => {
      await assertSound(visited, 'docs')
      await assertTabOrder(visited, ['Skip to the text', 'Mailwright'])
      await visited.page.getByRole('link', { name: 'Skip to the text' }).press('Enter')
      assert.match(visited.page.url(), /\/docs#top$/)
    },
  )

  page(
    'the editor of GraphQL',
    ({ service }) => `${service.url}/graphql`,
    async (visited) => {
      const { page } = visited
      await page.locator('.graphiql-query-editor .view-lines').waitFor()
      await page.locator('.graphiql-execute-button').press('Enter')
      await page.locator('.graphiql-response').getByText('MISSING_AUTH').waitFor()
      await assertSound(visited, 'graphiql', { rules: RULES_OF_GRAPHIQL })
    },
  )

  page('the mailbox shows new mail by itself, and can be cleared', mailbox, async (visited, { service }) => {
    const { page } = visited
    const first = page.locator('#messages li a').first()
    await first.focus()
    await send(service, { to: 'new@example.org', subject: 'Just arrived' })
    await page.getByRole('link', { name: 'Just arrived' }).waitFor()
    await assertTabOrder(visited, [await page.locator('#messages strong').nth(2).innerText()])
    await page.getByRole('button', { name: 'Clear' }).press('Enter')
    await page.getByRole('heading', { name: 'Delete all messages?' }).waitFor()
    await assertSound(visited, 'clearing')
    await page.keyboard.press('Escape')
    assert.is(await page.locator('#messages li').count(), 3)
    await page.getByRole('button', { name: 'Clear' }).press('Enter')
    await page.getByRole('button', { name: 'Delete all' }).press('Enter')
    await page.getByText('Nothing here yet').waitFor()
    await assertSound(visited, 'mailbox-empty')
  })
})
