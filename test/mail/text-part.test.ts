import * as assert from 'uvu/assert'
import { textFromHtml } from '../../src/mail/text-part.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

scenario('The text part', nothingShared, (test) => {
  test('links keep their address, once', () => {
    assert.is(
      textFromHtml('<p><a href="https://x.example/a?b=1&amp;c=2">Open</a></p>'),
      'Open [https://x.example/a?b=1&c=2]',
    )
    assert.is(textFromHtml('<a href="https://x.example">https://x.example</a>'), 'https://x.example')
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

  test('hostile markup neither throws nor holds the process', () => {
    const started = performance.now()
    for (const html of ['<div>'.repeat(1_000_000), '</b>'.repeat(500_000), `${'<b>'.repeat(300_000)}</c>`]) {
      textFromHtml(html)
    }
    assert.ok(performance.now() - started < 20_000)
  })

  test('an image inside the markup does not push the text out', () => {
    assert.is(textFromHtml(`<img src="data:image/png;base64,${'A'.repeat(400_000)}"><p>Text</p>`), 'Text')
  })
})
