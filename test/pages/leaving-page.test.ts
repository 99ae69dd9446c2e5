import * as assert from 'uvu/assert'
import { scenario } from '../support/scenario.ts'
import { startService } from '../support/service.ts'
import { assertSound, assertTabOrder, startBrowser, visit } from './browser.ts'

const ADDRESS = `https://münchen.example/path/${'a-long-address/'.repeat(30)}?q=1&r=%22#there`

async function start() {
  const [browser, service] = await Promise.all([startBrowser(), startService({ ROLES: 'http' })])
  const stop = async () => {
    await Promise.all([browser.close(), service.stop()])
  }
  return { browser, service, stop }
}

scenario('The page of a link that was changed', start, (test) => {
  test('names where it leads and goes there when it is asked to', async ({ browser, service }) => {
    const visited = await visit(browser, `${service.url}/t/c/x?u=${encodeURIComponent(ADDRESS)}`, 404)
    const { page } = visited
    assert.is(await page.title(), 'This link was changed')
    assert.is(await page.locator('strong').innerText(), 'xn--mnchen-3ya.example')
    assert.is(await page.locator('code').innerText(), new URL(ADDRESS).href)
    await assertSound(visited, 'leaving')
    await assertTabOrder(visited, ['Go on to xn--mnchen-3ya.example'])
    await page.route('https://xn--mnchen-3ya.example/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<title>There</title>' }),
    )
    await Promise.all([page.waitForURL(/^https:\/\/xn--mnchen-3ya\.example\//), page.keyboard.press('Enter')])
    assert.is(await page.title(), 'There')
    await visited.close()
  })
})
