import * as assert from 'uvu/assert'
import { SUBSCRIPTION_TEXTS } from '../../src/features/subscriptions/subscription-texts.ts'
import { LANGUAGES } from '../../src/lib/text/languages.ts'
import { newsletter } from '../features/subscriptions/subscription-support.ts'
import { scenario } from '../support/scenario.ts'
import { startService } from '../support/service.ts'
import { assertSound, assertTabOrder, startBrowser, visit } from './browser.ts'

async function start() {
  const [browser, service] = await Promise.all([startBrowser(), startService({ ROLES: 'http' })])
  const stop = async () => {
    await Promise.all([browser.close(), service.stop()])
  }
  return { browser, service, stop }
}

scenario('Subscription pages in a browser', start, (test) => {
  for (const language of LANGUAGES) {
    const { subscribed, unsubscribed, deadLink } = SUBSCRIPTION_TEXTS[language]

    test(`are answered by keyboard in ${language}`, async ({ browser, service }) => {
      const { token } = await newsletter(service, `${language}@example.org`, { data: { locale: language } })
      const visited = await visit(browser, `${service.url}/manage/${token}`)
      const { page } = visited
      try {
        assert.is(await page.locator('html').getAttribute('lang'), language)
        assert.is(await page.getByRole('heading').innerText(), subscribed.heading)
        await assertSound(visited, `manage-${language}`)
        await assertTabOrder(visited, [subscribed.button])
        await page.keyboard.press('Enter')
        await page.getByRole('heading', { name: unsubscribed.heading }).waitFor()
        await assertSound(visited, `unsubscribed-${language}`)
        await assertTabOrder(visited, [unsubscribed.button])
        await page.keyboard.press('Enter')
        await page.getByRole('heading', { name: subscribed.heading }).waitFor()
      } finally {
        await visited.close()
      }
    })

    test(`say what to do about a mangled link in ${language}`, async ({ browser, service }) => {
      const { token } = await newsletter(service, 'mangled@example.org')
      const url = `${service.url}/unsubscribe/${token.slice(0, -5)}`
      const visited = await visit(browser, url, 404, language)
      try {
        assert.is(await visited.page.locator('html').getAttribute('lang'), language)
        assert.is(await visited.page.getByRole('heading').innerText(), deadLink.heading)
        await assertSound(visited, `mangled-link-${language}`)
      } finally {
        await visited.close()
      }
    })
  }
})
