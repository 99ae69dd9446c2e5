import fc from 'fast-check'
import { parseDocument } from 'htmlparser2'
import * as assert from 'uvu/assert'
import { renderHtml, viewOf } from '../../src/templating/render.ts'
import { TemplateCache } from '../../src/templating/template-cache.ts'
import { LINKS, linkVariable, trackLinks } from '../../src/templating/tracked-links.ts'
import { RenderedTooLarge, WorkMeter } from '../../src/templating/work-meter.ts'
import { startBrowser } from '../pages/browser.ts'
import { nothingShared, scenario } from '../support/scenario.ts'
import { API_URL, NEWSLETTERS } from './newsletters.ts'

const ROOM = { work: 10_000_000_000, characters: 100_000_000 }

const track = (html: string) => trackLinks(html, API_URL, new WorkMeter(ROOM))

const render = (template: string, variables: Parameters<typeof viewOf>[0]) =>
  renderHtml(template, viewOf(variables, { meter: new WorkMeter(ROOM), templates: new TemplateCache() }))

const DATA = { name: 'Ada', items: ['1', '2'], a: true, x: '<b>"', title: 'T', order: 7, bold: true }

/** The address that stands for one in the tests. */
const replaced = (target: string) =>
  `https://track.example/?u=${encodeURIComponent(target).replaceAll("'", '%27')}`

const PLACEHOLDER = new RegExp(`"?\\{\\{\\{${LINKS}\\.(\\d+)\\}\\}\\}"?`, 'g')

/** All that is in a document, with addresses that were replaced put back, and others as they are read. */
function contentsOf(node: object): unknown {
  const { type, name, data, attribs, children } = node as Record<string, unknown>
  return {
    ...{ type, name, data },
    attribs: Object.entries((attribs ?? {}) as Record<string, string>).map(([key, value]) => [
      key,
      original(value),
    ]),
    children: Array.isArray(children) ? children.map((child: object) => contentsOf(child)) : [],
  }
}

const original = (value: string) =>
  value.startsWith('https://track.example/?u=')
    ? (new URL(value).searchParams.get('u') ?? '')
    : value.trim().replace(/[\t\n\r]/g, '')

scenario('Links of newsletters', nothingShared, (test) => {
  test('are at least thirty, each with a name of its own', () => {
    assert.ok(NEWSLETTERS.length >= 30)
    assert.is(new Set(NEWSLETTERS.map(({ name }) => name)).size, NEWSLETTERS.length)
    assert.ok(NEWSLETTERS.some(({ html }) => html.length > 200_000))
  })

  for (const { name, html, links } of NEWSLETTERS) {
    test(`are found and nothing else is touched: ${name}`, () => {
      const tracked = track(html)
      assert.equal(tracked.links, links)
      if (links.length === 0) assert.is(tracked.body, html)
      const between = tracked.body.split(PLACEHOLDER).filter((_, index) => index % 2 === 0)
      // What is between the placeholders is the source, in its order, without a byte left out or added.
      let from = 0
      for (const [index, part] of between.entries()) {
        const found = html.indexOf(part, from)
        assert.ok(index === 0 ? found === 0 : found >= from, part.slice(0, 80))
        from = found + part.length
      }
      assert.ok(html.endsWith(between.at(-1) ?? ''))
      const filled = render(tracked.body, { ...DATA, [LINKS]: tracked.links.map(replaced) })
      assert.equal(contentsOf(parseDocument(filled)), contentsOf(parseDocument(render(html, DATA))))
      assert.is([...filled.matchAll(/https:\/\/track\.example/g)].length > 0, links.length > 0)
    })
  }

  test('are found in any text, and put back they give the same text', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        ...[
          '<a ',
          '<A\n',
          '<area ',
          'href=',
          'HREF = ',
          '"',
          "'",
          '>',
          '/>',
          '</a>',
          '<!--',
          '-->',
          '{{',
          '}}',
          '{{{',
          '}}}',
        ],
        ...[
          '{{x}}',
          '{{#a}}',
          '{{/a}}',
          '{{=<% %>=}}',
          'https://a.example/',
          'https://a.example/?a=1&amp;b',
          '&',
          '&amp;',
          '<',
          ' ',
        ],
        ...[
          '<script>',
          '</script>',
          '<title>',
          '</title>',
          '<![CDATA[',
          ']]>',
          'data-track=false',
          '<iframe>',
          '\0',
          '\n',
          '=',
        ],
      ),
      fc.string({ maxLength: 5 }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const html = pieces.join('')
        const { body, links } = track(html)
        if (links.length === 0) return assert.is(body, html)
        const parts = body.split(PLACEHOLDER)
        let from = 0
        for (const [index, part] of parts.entries()) {
          if (index % 2 === 0) {
            assert.is(html.indexOf(part, from) >= from, true)
            from = html.indexOf(part, from) + part.length
          } else assert.ok(links[Number(part)])
        }
        for (const link of links) assert.match(link, /^https:/)
      }),
      { numRuns: 2_000 },
    )
  })

  test('are some in number at most, and cost what they may', () => {
    const many = Array.from(
      { length: 1_500 },
      (_, index) => `<a href="https://a.example/${index}">x</a>`,
    ).join('')
    const { links, body } = track(many)
    assert.is(links.length, 1_000)
    assert.match(body, 'href="https://a.example/1000"')
    assert.throws(
      () => trackLinks(many, API_URL, new WorkMeter({ work: 1_000, characters: 1_000 })),
      (error: unknown) => error instanceof RenderedTooLarge,
    )
    assert.equal(track(`${'{{x}}'.repeat(60_000)}<a href="https://a.example/">x</a>`).links, [])
  })

  test('keep their numbers', () => {
    const { body } = track('<a href="https://a.example/">1</a><a href=https://b.example/>2</a>')
    assert.is(body, `<a href="{{{${linkVariable(0)}}}}">1</a><a href="{{{${linkVariable(1)}}}}">2</a>`)
  })
})

async function openPage() {
  const browser = await startBrowser()
  const page = await browser.newPage()
  return { page, stop: () => browser.close() }
}

/** Everything of a document as a browser reads it, with the addresses of links apart. */
const READ = `(html) => {
  const links = []
  const read = (node) => node.nodeType !== 1 ? [node.nodeType, node.nodeName, node.nodeValue] : [node.nodeName,
    [...node.attributes].map(({ name, value }) => {
      if (name !== 'href' || !['a', 'area'].includes(node.localName)) return [name, value]
      links.push(value)
      return [name]
    }), [...(node.content ?? node).childNodes].map(read)]
  const document = new DOMParser().parseFromString(html, 'text/html')
  return { links, document: JSON.stringify([...document.childNodes].map(read)) }
}`

scenario('Links of newsletters in a browser', openPage, (test) => {
  test('are all that is another after they were replaced', async ({ page }) => {
    const read = (html: string): Promise<{ links: string[]; document: string }> =>
      page.evaluate(`(${READ})(${JSON.stringify(html)})`)
    for (const { name, html } of NEWSLETTERS) {
      const tracked = track(html)
      const before = await read(render(html, DATA))
      const after = await read(render(tracked.body, { ...DATA, [LINKS]: tracked.links.map(replaced) }))
      assert.is(after.document, before.document, name)
      assert.equal(after.links.map(original), before.links.map(original), name)
    }
  })
})
