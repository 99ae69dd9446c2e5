import { compile } from 'html-to-text'

/**
 * The parser's time grows with the square of the nesting, so that a hostile body of a megabyte would hold the
 * process for seconds. No reader of plain text misses what lies behind this many characters of markup.
 */
const longestHtml = 128_000
const dataUri = /data:[^"'()\s>]{256,}/g
const oneLineEach = { leadingLineBreaks: 1, trailingLineBreaks: 1 }
const headings = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6']

const convert = compile({
  // Lines that stay below 77 characters travel as they are, without a transfer encoding.
  wordwrap: 76,
  limits: { maxDepth: 100 },
  formatters: {
    cell(element, walk, builder) {
      walk(element.children, builder)
      builder.addInline(' ')
    },
  },
  selectors: [
    { selector: 'img', format: 'skip' },
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
    ...headings.map((selector) => ({ selector, options: { uppercase: false } })),
    // Tables are layout in mail: a line per row, cells side by side.
    { selector: 'table', options: oneLineEach },
    { selector: 'tr', format: 'block', options: oneLineEach },
    { selector: 'td', format: 'cell' },
    { selector: 'th', format: 'cell' },
  ],
})

/** Plain text that says what `html` says: links as `text [url]`, no images, lines of at most 76 characters. */
export function textFromHtml(html: string): string {
  if (html.length <= longestHtml) return convert(html)
  return convert(html.replace(dataUri, '').slice(0, longestHtml))
}
