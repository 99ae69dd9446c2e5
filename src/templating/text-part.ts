import { compile } from 'html-to-text'
import { cutText } from '../lib/text/cut-text.ts'
import { withLineBreaks } from '../lib/text/html.ts'

/** No reader of plain text misses what lies behind this many characters of markup. */
const LONGEST_HTML = 128_000
/** The text may be longer than its markup, because of rules and deep lists. */
const longestText = LONGEST_HTML
/** Images inside the markup are left out of it up to here. */
const LONGEST_WITH_DATA = 8_000_000

/** Far deeper than any layout of tables. The parser's time grows with the square of the nesting. */
const DEEPEST_NESTING = 100

const TAG_START = /<(\/?)([a-z][^\s/>]*)/gi
const WITHOUT_CONTENT = new Set([
  'area',
  'base',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'param',
  'source',
  'wbr',
])
/** Which open elements end where another one begins, as the parser sees it. */
const ENDED_BY: Record<string, string[]> = {
  ...{ p: ['p'], li: ['li'], option: ['option'], dd: ['dd', 'dt'], dt: ['dd', 'dt'] },
  ...{ tbody: ['thead', 'tbody'], tfoot: ['thead', 'tbody'] },
  ...{ tr: ['tr', 'th', 'td'], th: ['th'], td: ['thead', 'th', 'td'] },
}
const DATA_URI = /data:[^"'()\s>]{256,}/g
const ONE_LINE_EACH = { leadingLineBreaks: 1, trailingLineBreaks: 1 }
const HEADINGS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6']

/**
 * Marks where the conversion leaves out markup that is nested too deep: a character that no text has
 * (Unicode, 23.7).
 */
const CUT_OFF = '\ufdd0'

const convert = compile({
  // Lines that stay below 77 characters travel as they are, without a transfer encoding.
  wordwrap: 76,
  limits: { maxDepth: DEEPEST_NESTING, ellipsis: CUT_OFF },
  formatters: {
    cell(element, walk, builder) {
      walk(element.children, builder)
      builder.addInline(' ')
    },
  },
  selectors: [
    { selector: 'img', format: 'skip' },
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
    ...HEADINGS.map((selector) => ({ selector, options: { uppercase: false } })),
    // Tables are layout in mail: a line per row, cells side by side.
    { selector: 'table', options: ONE_LINE_EACH },
    { selector: 'tr', format: 'block', options: ONE_LINE_EACH },
    { selector: 'td', format: 'cell' },
    { selector: 'th', format: 'cell' },
  ],
})

/** Markup up to this length is converted in a few milliseconds, whatever it is. */
export const SHORT_HTML = 4_096

/** Plain text that says what `html` says: links as `text [url]`, no images, lines of at most 76 characters. */
export function textFromHtml(html: string): string {
  const bounded = boundedHtml(html)
  const text = isTooDeep(bounded) ? CUT_OFF : convert(withLineBreaks(bounded))
  return cutText(text.includes(CUT_OFF) ? convert(withoutTags(withoutHidden(bounded))) : text, longestText)
}

/** The part of the markup that the text is created from. */
export const boundedHtml = (html: string): string =>
  html.length <= LONGEST_HTML
    ? html
    : cutText(html.slice(0, LONGEST_WITH_DATA).replace(DATA_URI, ''), LONGEST_HTML)

/**
 * Stands for a text that takes too long to create: the beginning of what `html` says, without its structure.
 */
export const roughText = (html: string): string =>
  convert(withoutTags(withoutHidden(html).slice(0, 4 * SHORT_HTML)))

/**
 * Removes elements that are not shown. An element without an end goes on to the end of the text, as in
 * browsers.
 */
function withoutHidden(html: string): string {
  const start = /<(title|style|script)\b/gi
  let shown = ''
  let from = 0
  for (let found = start.exec(html); found; found = start.exec(html)) {
    shown += html.slice(from, found.index)
    const end = new RegExp(`</${found[1]}\\b[^>]*>?`, 'gi')
    end.lastIndex = start.lastIndex
    if (!end.exec(html)) return shown
    from = end.lastIndex
    start.lastIndex = from
  }
  return shown + html.slice(from)
}

/**
 * Counts much as the parser does, for which an end tag of an element that is not open ends nothing. Markup
 * that is built to be miscounted, with tags in comments and the like, reaches some thousand levels at most.
 */
export function isTooDeep(html: string): boolean {
  const open: string[] = []
  for (const [, end, tag = ''] of html.matchAll(TAG_START)) {
    const name = tag.toLowerCase()
    if (end !== '') endElement(open, name)
    else if (!WITHOUT_CONTENT.has(name)) beginElement(open, name)
    if (open.length > DEEPEST_NESTING) return true
  }
  return false
}

function beginElement(open: string[], name: string): void {
  const ended = Object.hasOwn(ENDED_BY, name) ? ENDED_BY[name] : undefined
  while (ended?.includes(open.at(-1) ?? '')) open.pop()
  open.push(name)
}

function endElement(open: string[], name: string): void {
  const index = open.lastIndexOf(name)
  if (index !== -1) open.length = index
}

/** Removes tags, so that no tag can be left, whatever was between quotation marks. */
function withoutTags(html: string): string {
  return html.replace(/<[^<>]*>/g, ' ').replaceAll('<', '&lt;')
}
