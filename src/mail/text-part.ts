import { compile } from 'html-to-text'
import { withLineBreaks } from '../lib/html.ts'

/** No reader of plain text misses what lies behind this many characters of markup. */
const longestHtml = 128_000

/** Far deeper than any layout of tables. The parser's time grows with the square of the nesting. */
const deepestNesting = 100

/** The start of a tag; those that need no end are left out. */
const nestingTag =
  /<(\/?)(?!(?:area|base|br|col|dd|dt|embed|hr|img|input|li|link|meta|option|p|source|t[dhr]|tbody|tfoot|thead|wbr)\b)[a-z]/gi
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
  const bounded = html.length <= longestHtml ? html : html.replace(dataUri, '').slice(0, longestHtml)
  return convert(isTooDeep(bounded) ? withoutTags(bounded) : withLineBreaks(bounded))
}

function isTooDeep(html: string): boolean {
  let depth = 0
  for (const [, end] of html.matchAll(nestingTag)) {
    depth = end === '' ? depth + 1 : Math.max(0, depth - 1)
    if (depth > deepestNesting) return true
  }
  return false
}

/** What is left of it can hold no tag any more, whatever was between quotation marks. */
function withoutTags(html: string): string {
  return html.replace(/<[^<>]*>/g, ' ').replaceAll('<', '&lt;')
}
