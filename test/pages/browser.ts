import { mkdirSync } from 'node:fs'
import axe from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import * as assert from 'uvu/assert'

/**
 * Starts the Chromium that comes as an npm package (Linux on x64). CHROMIUM names another one, for other systems;
 * SCREENSHOTS names a folder that gets a picture of every page in every look.
 */
export async function startBrowser(): Promise<Browser> {
  // Otherwise the package leaves out the libraries that a bare machine does not have.
  process.env.AWS_EXECUTION_ENV = 'AWS_Lambda_nodejs24.x'
  const { default: packaged } = await import('@sparticuz/chromium')
  const executablePath = process.env.CHROMIUM ?? (await packaged.executablePath())
  // Without a locale of UTF-8 it cannot name a file of other letters than ASCII's.
  const env = { ...process.env, LC_ALL: 'C.UTF-8' }
  return chromium.launch({ executablePath, env, args: ['--no-sandbox'], headless: true })
}

/** A tab with one page of the service, and what the browser has to complain of it. */
export type Visit = { page: Page; complaints: string[]; close: () => Promise<void> }

const WIDE = { width: 1280, height: 800 }
const NARROW = { width: 390, height: 844 }

/** Opens an address of the service in a browser that speaks `locale`, and waits until everything is loaded. */
export async function visit(browser: Browser, url: string, status = 200, locale = 'en-US'): Promise<Visit> {
  const context = await browser.newContext({ viewport: WIDE, colorScheme: 'light', locale })
  // No wait of a test is a measurement of the machine.
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const complaints: string[] = []
  const { origin } = new URL(url)
  page.on('console', (message) => {
    // A browser reports the status of a page that is meant to have it.
    const isStatus = status >= 400 && message.location().url === url
    if (['error', 'warning'].includes(message.type()) && !isStatus) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('request', (request) => {
    const isOurs = request.url().startsWith(`${origin}/`) || /^(data|blob):/.test(request.url())
    if (!isOurs) complaints.push(`asks for ${request.url()}`)
  })
  page.on('requestfailed', (request) => {
    // Whoever leaves a page aborts what it still asks for.
    const reason = request.failure()?.errorText
    if (reason !== 'net::ERR_ABORTED') complaints.push(`${request.url()}: ${reason}`)
  })
  const answer = await page.goto(url, { waitUntil: 'load' })
  assert.is(answer?.status(), status, url)
  return { page, complaints, close: () => context.close() }
}

/** Boxes that hold more than they can show from left to right. */
const WIDER_THAN_ITSELF = `[document.documentElement, ...document.querySelectorAll('main, article, section, nav, header')]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
  .map(({ tagName, id, scrollWidth }) => tagName + ' ' + id + ' ' + scrollWidth)`

export type Excused = {
  /** Rules of axe that are not asked, by name, and why. */
  rules?: Record<string, string>
}

/** Checks what holds for every page, wide and narrow, light and dark. `name` is that of the screenshots. */
export async function assertSound(
  { page, complaints }: Visit,
  name: string,
  { rules = {} }: Excused = {},
): Promise<void> {
  await page.evaluate(axe.source)
  for (const viewport of [WIDE, NARROW]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const look = `${name}, ${viewport.width} px, ${colorScheme}`
      await page.setViewportSize(viewport)
      await page.emulateMedia({ colorScheme })
      if (process.env.SCREENSHOTS) {
        mkdirSync(process.env.SCREENSHOTS, { recursive: true })
        await page.screenshot({ path: `${process.env.SCREENSHOTS}/${look.replaceAll(', ', '-')}.png` })
      }
      assert.equal(await findingsOf(page, Object.keys(rules)), [], look)
      assert.equal(await page.evaluate(WIDER_THAN_ITSELF), [], look)
    }
  }
  assert.equal(complaints, [], name)
}

async function findingsOf(page: Page, withoutRules: string[]): Promise<string[]> {
  const options = {
    resultTypes: ['violations'],
    iframes: false,
    preload: false,
    rules: Object.fromEntries(withoutRules.map((rule) => [rule, { enabled: false }])),
  }
  return page.evaluate<string[]>(`axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html, any }) =>
      html.slice(0, 200) + ' ' + any.map(({ message }) => message).join(' ')).join(' | ')))`)
}

/** What has the focus, and whether that can be seen. */
const FOCUSED = `(() => {
  const { activeElement } = document
  const { outlineStyle, outlineWidth } = getComputedStyle(activeElement)
  const name = activeElement.getAttribute('aria-label') || activeElement.innerText ||
    activeElement.labels?.[0]?.innerText || activeElement.title
  return { name: name.trim().split('\\n')[0], isSeen: outlineStyle !== 'none' && parseFloat(outlineWidth) > 0 }
})()`

/** Presses Tab once for each name, and checks that the focus is there and can be seen. */
export async function assertTabOrder({ page }: Visit, names: string[]): Promise<void> {
  const seen: string[] = []
  for (const _ of names) {
    await page.keyboard.press('Tab')
    const { name, isSeen } = await page.evaluate<{ name: string; isSeen: boolean }>(FOCUSED)
    assert.ok(isSeen, `the focus on ${name} is seen`)
    seen.push(name)
  }
  assert.equal(seen, names)
}
