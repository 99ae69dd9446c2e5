import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { isTooDeep, roughText, textFromHtml } from '../../src/templating/text-part.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

scenario('The text part', nothingShared, (test) => {
  test('links keep their address, once', () => {
    assert.is(
      textFromHtml('<p><a href="https://x.example/a?b=1&amp;c=2">Open</a></p>'),
      'Open [https://x.example/a?b=1&c=2]',
    )
    assert.is(textFromHtml('<a href="https://x.example">https://x.example</a>'), 'https://x.example')
  })

  test('what takes too long is told without its structure, and without what is not shown', () => {
    const head = `<HTML><head><meta charset="utf-8"><title>T</title><style>${'p { color: red }\n'.repeat(2_000)}</STYLE >`
    assert.is(roughText(`${head}<p>Hello</p><script>x('<p>')</script ><p>you</p><style>a{}`), 'Hello you')
  })

  test('images, styles and what only the browser reads are dropped', () => {
    const html = `<html><head><title>T</title><style>p{}</style></head><body><style>a{}</style><!-- no -->
      <img src="https://x.example/pixel.gif" alt="logo"><p>Text</p><script>x()</script></body></html>`
    assert.is(textFromHtml(html), 'Text')
  })

  test('headings keep their case and table cells their distance', () => {
    const table = '<table><tr><th>Item</th><th>Price</th></tr><tr><td>Tea</td><td>5 €</td></tr></table>'
    assert.is(textFromHtml(`<h1>Your Order</h1>${table}`), 'Your Order\n\nItem Price\nTea 5 €')
  })

  test('lines are wrapped at 76 characters, addresses are not', () => {
    const url = `https://x.example/${'a'.repeat(100)}`
    const lines = textFromHtml(`<p>${'word '.repeat(60)}<a href="${url}">go</a></p>`).split('\n')
    assert.ok(lines.every((line) => line.length <= 76 || line.includes(url)))
    assert.ok(lines.some((line) => line.includes(`[${url}]`)))
  })

  test('a body without a tag keeps its line breaks, and its entities are read', () => {
    assert.is(
      textFromHtml('Hello Ann,\n\nTea &amp; cake: 3 &lt; 5\r\nBye\rAda'),
      'Hello Ann,\n\nTea & cake: 3 < 5\nBye\nAda',
    )
    assert.is(textFromHtml('a < b\nc'), 'a < b\nc')
    assert.is(textFromHtml('<b>one</b>\nline'), 'one line')
  })

  test('markup without end is read as text, however deep it is nested', () => {
    const words = Array.from({ length: 500 }, (_, index) => `word${index}`)
    for (const tag of ['b', 'div', 'blockquote', 'ul', 'table', 'x-y']) {
      const text = textFromHtml(words.map((word) => `<${tag}>${word} &amp;`).join(''))
      assert.equal(
        text.split(/\s+/),
        words.flatMap((word) => [word, '&']),
      )
    }
    const quotedTags = textFromHtml('<b a="<">'.repeat(10_000))
    assert.not.match(quotedTags, /<b a="<">/)
  })

  test('any soup of tags keeps its words, however many end tags belong to nothing', () => {
    const names = [
      'b',
      'i',
      'div',
      'p',
      'ul',
      'li',
      'dd',
      'dt',
      'table',
      'tbody',
      'tr',
      'td',
      'th',
      'select',
      'option',
    ]
    const tag = fc
      .tuple(fc.constantFrom('<', '<', '</'), fc.constantFrom(...names))
      .map(([start, name]) => `${start}${name}>`)
    const keepsWords = (tags: string[]) => {
      const soup = Array.from({ length: 150 }, () => tags.join('')).map(
        (some, index) => `${some} word${index} `,
      )
      assert.equal(textFromHtml(soup.join('')).match(/word\d+/g)?.length, 150, tags.join(''))
    }
    fc.assert(fc.property(fc.array(tag, { minLength: 1, maxLength: 6 }), keepsWords), { numRuns: 300 })
  })

  test('nesting is counted with the end tags that end something', () => {
    for (const tags of [
      '<b>',
      '<b></i>',
      '<b></b ><b></p>',
      '<li><dd>',
      '<tbody><tr><td></th>',
      '<B></i></I>',
    ]) {
      assert.ok(isTooDeep(tags.repeat(101)), tags)
      assert.is(isTooDeep(tags.repeat(30)), false, tags)
    }
    for (const tags of [
      '<b></b>',
      '<B></b >',
      '<b><i></b>',
      '</b>',
      '<br>',
      '<li>',
      '<dt><dd>',
      '<tr><td><td>',
      '<p>',
      '< b>',
    ]) {
      assert.is(isTooDeep(tags.repeat(10_000)), false, tags)
    }
  })

  test('what needs no end tag is not nesting', () => {
    const lines = Array.from({ length: 300 }, (_, index) => `line${index}`)
    assert.is(textFromHtml(`<div>${lines.join('<br>')}</div>`), lines.join('\n'))
    assert.is(textFromHtml(`<ul>${lines.map((text) => `<li>${text}`).join('')}</ul>`).split('\n').length, 300)
    assert.is(textFromHtml(lines.map((text) => `<p>${text}`).join('')), lines.join('\n\n'))
    const layout = `${'<table><tr><td>'.repeat(20)}Text${'</td></tr></table>'.repeat(20)}`
    assert.is(textFromHtml(layout), 'Text')
  })

  test('hostile markup of any size costs little more than a long text', () => {
    const costOf = (html: string) => {
      const before = process.cpuUsage()
      textFromHtml(html)
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    const usual = Math.max(costOf('<p>word <b>word</b></p>'.repeat(5_600)), 20_000)
    for (const html of [
      '<div>'.repeat(1_000_000),
      '<b>x</i>'.repeat(16_000),
      '<li><dd>'.repeat(16_000),
      '<tbody><tr><td>'.repeat(8_000),
      '<b>x</b>'.repeat(16_000),
      '</b>'.repeat(500_000),
      `${'<b>'.repeat(300_000)}</c>`,
      `${'<b>'.repeat(100)}${'</c>'.repeat(40_000)}`,
      '<b a="<">'.repeat(20_000),
      '<'.repeat(128_000),
      '<a'.repeat(64_000),
      '<!--'.repeat(32_000),
      '<p>'.repeat(42_000),
      '<li>'.repeat(32_000),
      '<td>'.repeat(32_000),
      '<a href="x">'.repeat(10_000),
      '&amp'.repeat(32_000),
      '\n'.repeat(128_000),
      ' '.repeat(128_000),
      'x'.repeat(128_000),
    ]) {
      assert.ok(costOf(html) < usual * 30, `${html.slice(0, 20)}… costs more than ${usual * 30} µs`)
    }
  })

  test('never comes to more than the longest markup', () => {
    for (const html of ['<hr>'.repeat(30_000), `${'<ul><li>'.repeat(49)}${'x<br>'.repeat(20_000)}`]) {
      assert.is(textFromHtml(html).length, 128_000)
    }
    assert.is(textFromHtml(`a${'😀'.repeat(80_000)}`).isWellFormed(), true)
  })

  test('an image inside the markup does not push the text out', () => {
    assert.is(textFromHtml(`<img src="data:image/png;base64,${'A'.repeat(400_000)}"><p>Text</p>`), 'Text')
  })
})
