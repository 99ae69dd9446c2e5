import fc from 'fast-check'
import Mustache from 'mustache'
import * as assert from 'uvu/assert'
import type { JsonObject, JsonValue } from '../../src/lib/json.ts'
import { escapeHtml } from '../../src/lib/text/html.ts'
import { MAX_SUBJECT } from '../../src/messages/subject.rules.ts'
import * as rendering from '../../src/templating/render.ts'
import { renderBody, renderHtml, renderSubject, viewOf } from '../../src/templating/render.ts'
import { TemplateCache } from '../../src/templating/template-cache.ts'
import { TemplateSyntaxError } from '../../src/templating/template-parser.ts'
import { variablesOf } from '../../src/templating/template-variables.ts'
import { RenderedTooLarge, WorkMeter } from '../../src/templating/work-meter.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

/** What one request may cost. */
const REQUEST = { work: 100_000_000, characters: 64 * 1024 * 1024 }
const tools = (allowance = REQUEST) => ({ meter: new WorkMeter(allowance), templates: new TemplateCache() })

const html = (template: string, variables: JsonObject = {}) =>
  renderHtml(template, viewOf(variables, tools()))
const subject = (template: string, variables: JsonObject = {}) =>
  renderSubject(template, viewOf(variables, tools()))
const checkTemplate = (template: string) => rendering.checkTemplate(template, tools())

/** What a JSON body holds: keys such as __proto__ are keys like any other there. */
const json = (text: string): JsonObject => JSON.parse(text)

type Example = [template: string, variables: JsonObject, result: string]

const BODIES: Record<string, Example[]> = {
  'a variable is escaped': [
    ['<p>{{x}}</p>', { x: `<b a="1">'&` }, '<p>&lt;b a=&quot;1&quot;&gt;&#39;&amp;</p>'],
  ],
  'three braces and & are raw': [['{{{x}}}{{&x}}{{& x }}', { x: '<b>' }, '<b><b><b>']],
  'numbers and booleans are written out': [
    ['{{n}} {{z}} {{t}} {{f}}', { n: 1.5, z: 0, t: true, f: false }, '1.5 0 true false'],
  ],
  'null and missing ones are empty': [['[{{x}}{{y}}{{y.z}}]', { x: null }, '[]']],
  'objects and lists are JSON': [['{{{x}}} {{{y}}}', { x: { a: 1 }, y: [1, 'b'] }, '{"a":1} [1,"b"]']],
  'blanks inside a tag do not matter': [['{{  x  }}{{{ x }}}{{ # x }}y{{ / x }}', { x: 'a' }, 'aay']],
  'a path reaches into objects and lists': [
    ['{{a.b.c}} {{list.0}} {{list.length}}', { a: { b: { c: 1 } }, list: ['x', 'y'] }, '1 x 2'],
  ],
  'a key may hold blanks': [['{{first name}}', { 'first name': 'Ada' }, 'Ada']],
  'a section shows for what is true': [
    ['{{#x}}yes{{/x}}{{^x}}no{{/x}}', { x: true }, 'yes'],
    ['{{#x}}yes{{/x}}{{^x}}no{{/x}}', { x: false }, 'no'],
    ['{{#x}}yes{{/x}}{{^x}}no{{/x}}', {}, 'no'],
    ['{{#x}}yes{{/x}}{{^x}}no{{/x}}', { x: [] }, 'no'],
    ['{{#x}}yes{{/x}}{{^x}}no{{/x}}', { x: '' }, 'no'],
  ],
  'a section loops over a list': [
    ['{{#x}}{{n}},{{/x}}', { x: [{ n: 1 }, { n: 2 }] }, '1,2,'],
    ['{{#x}}{{.}},{{/x}}', { x: ['a', 2, true] }, 'a,2,true,'],
    ['{{#x}}{{n}}{{y}},{{/x}}', { x: [{ n: 1 }, { n: null }], y: 'o' }, '1o,o,'],
  ],
  'items that are nothing do not break a loop': [
    ['{{#x}}[{{a}}{{.}}]{{/x}}', { x: [null, 1, [null]], a: '' }, '[][1][[null]]'],
  ],
  'comments show nothing': [['a{{! a comment }}b{{!> partial}}c', {}, 'abc']],
  'delimiters can be changed': [['{{=<% %>=}}<% x %>{{x}}<%={{ }}=%>{{x}}', { x: 1 }, '1{{x}}1']],
  'lines of sections leave no empty lines': [['a\n  {{#x}}\nb\n  {{/x}}\r\nc', { x: true }, 'a\nb\nc']],
  'a fallback stands in for nothing': [
    ['{{x ?? friend}}', {}, 'friend'],
    ['{{x ?? friend}}', { x: null }, 'friend'],
    ['{{x ?? friend}}', { x: '' }, 'friend'],
    ['{{x??friend}}', {}, 'friend'],
    ['{{ x ?? "dear friend" }}', {}, 'dear friend'],
    ["{{x ?? 'it''s'}}", {}, 'it&#39;&#39;s'],
    ['{{x.y ?? none}}', { x: {} }, 'none'],
    ['{{x ?? }}', {}, ''],
    ['{{{x ?? <br>}}}', {}, '<br>'],
    ['{{x ?? <br>}}', {}, '&lt;br&gt;'],
  ],
  'a fallback does not replace 0 and false': [['{{x ?? a}}{{y ?? b}}', { x: 0, y: false }, '0false']],
}

const WITHOUT_VALUE = [
  'constructor',
  'toString',
  'hasOwnProperty',
  '__proto__',
  '__proto__.polluted',
  'constructor.name',
  'list.map',
  'list.constructor',
  'text.length',
  'text.constructor',
  'number.toFixed',
]

const BROKEN: [template: string, line: number, reason: RegExp][] = [
  ['a\nb {{x', 2, /Unclosed tag/],
  ['{{{x}}', 1, /Unclosed tag/],
  ['a\n\n{{#x}}\nb\n\n', 3, /Unclosed section "x"/],
  ['{{/x}}', 1, /Unopened section "x"/],
  ['{{#x}}\n{{/y}}', 2, /Unclosed section "x"/],
  ['{{#x}}{{#y}}{{/x}}{{/y}}', 1, /Unclosed section "y"/],
  ['\r\n{{=x=}}', 2, /delimiters/],
  ['{{x}}\n'.repeat(100_001), 100_001, /More than 100000 tags/],
  ['{{#x}}'.repeat(21) + '{{/x}}'.repeat(21), 1, /nested 20 deep/],
]

scenario('A body', nothingShared, (test) => {
  for (const [rule, examples] of Object.entries(BODIES)) {
    test(rule, () => {
      for (const [template, variables, result] of examples)
        assert.is(html(template, variables), result, template)
    })
  }

  for (const name of WITHOUT_VALUE) {
    test(`finds nothing under ${name}`, () => {
      const variables = { list: [1], text: 'abc', number: 1 }
      assert.is(html(`[{{{${name}}}}{{#${name}}}x{{/${name}}}{{list.0}}]`, variables), '[1]')
      assert.is(html(`{{#list}}[{{${name}}}]{{/list}}`, { list: ['abc', 1, {}, []] }), '[][][][]')
    })
  }

  test('shows data whose keys are named like what every object has', () => {
    const variables = json(
      '{"constructor":"a","toString":"b","hasOwnProperty":"c","__proto__":{"x":"d"},"e":1}',
    )
    assert.is(
      html('{{constructor}}{{toString}}{{hasOwnProperty}}{{__proto__.x}}{{e}}{{x}}', variables),
      'abcd1',
    )
  })

  test('is rendered once: what a variable holds is text', () => {
    assert.is(html('{{{x}}} {{x}} {{y}}', { x: '{{y}}', y: '{{x}}' }), '{{y}} {{y}} {{x}}')
  })

  test('says the same as mustache.js', () => {
    const piece = fc.constantFrom(
      ...['a', ' ', '  ', '\n', '\r\n', '<b>', '{', '}', '{{a}}', '{{ b }}', '{{{a}}}', '{{&b.c}}', '{{.}}'],
      ...['{{#a}}', '{{/a}}', '{{^a}}', '{{#b}}', '{{/b}}', '{{#l}}', '{{/l}}', '{{! c }}', '{{!\n}}'],
      ...['{{=<% %>=}}', '<% a %>', '<%={{ }}=%>', '{{', '}}'],
    )
    const view = { a: 'x & y', b: { c: [1] }, l: [{ a: 1 }, { a: 0 }, 'z'] }
    let compared = 0
    const agrees = (pieces: string[]) => {
      const template = pieces.join('')
      if (!isValid(template)) return
      compared += 1
      assert.is(html(template, view), mustache(template, view), JSON.stringify(template))
    }
    fc.assert(fc.property(fc.array(piece, { maxLength: 12 }), agrees), { numRuns: 5_000 })
    assert.ok(compared > 500, `${compared} templates were valid`)
  })
})

/** The oracle's own idea of what is valid is looser: it takes "{{=x=}}" for one of two delimiters. */
function isValid(template: string): boolean {
  try {
    checkTemplate(template)
    return true
  } catch {
    return false
  }
}

/** The library itself, with our rules for what a value looks like. */
function mustache(template: string, view: object): string {
  const shown = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value))
  class Plain extends Mustache.Writer {
    override unescapedValue(token: string[], context: Mustache.Context): string {
      const value: unknown = context.lookup(token[1] ?? '')
      return value === undefined || value === null ? '' : shown(value)
    }
  }
  const escaped = (value: unknown) => escapeHtml(shown(value))
  return new Plain().render(template, view, undefined, { escape: escaped })
}

scenario('A subject', nothingShared, (test) => {
  test('is not escaped', () => {
    assert.is(subject('{{x}} & {{{x}}}', { x: 'Q&A <1>' }), 'Q&A <1> & Q&A <1>')
  })

  test('stays one line when a variable has several', () => {
    assert.is(subject('Hi {{x}}!', { x: 'a\r\nBcc: b@c.de\n\n d' }), 'Hi a Bcc: b@c.de d!')
  })

  test('is cut at 998 characters, never inside one', () => {
    assert.is(subject('{{x}}', { x: 'a'.repeat(2_000) }).length, MAX_SUBJECT)
    assert.is(subject('{{x}}', { x: `a${'😀'.repeat(1_000)}` }), `a${'😀'.repeat(498)}`)
  })

  test('with a megabyte of blanks takes no time', () => {
    const startedAt = performance.now()
    assert.is(subject('{{x}}', { x: `${' '.repeat(1_000_000)}x` }).length, MAX_SUBJECT)
    assert.ok(performance.now() - startedAt < 20_000)
  })
})

scenario('A template that cannot be parsed', nothingShared, (test) => {
  for (const [template, line, reason] of BROKEN) {
    test(`says why and on which line: ${JSON.stringify(template.slice(0, 30))}`, () => {
      try {
        checkTemplate(template)
        assert.unreachable('it was parsed')
      } catch (error) {
        if (!(error instanceof TemplateSyntaxError)) throw error
        assert.is(error.line, line)
        assert.match(error.message, reason)
      }
    })
  }
})

const HOSTILE: Record<string, [template: string, variables: JsonObject]> = {
  'loops in loops': [
    `${'{{#l}}'.repeat(10)}x${'{{/l}}'.repeat(10)}`,
    { l: Array.from({ length: 1_000 }, () => 1) },
  ],
  'loops that show nothing': [
    `${'{{#l}}'.repeat(10)}${'{{/l}}'.repeat(10)}`,
    { l: Array.from({ length: 1_000 }, () => 1) },
  ],
  'loops over much that show nothing': [
    '{{#a}}{{#b}}{{/b}}{{/a}}',
    { a: Array.from({ length: 1_000 }, () => 1), b: Array.from({ length: 10_000 }, () => 1) },
  ],
  'a long text often': [
    `{{#l}}${'x'.repeat(1_000_000)}{{/l}}`,
    { l: Array.from({ length: 1_000 }, () => 1) },
  ],
  'a variable that is mostly escaped, often': [
    '{{#l}}{{x}}{{/l}}',
    { l: Array.from({ length: 2_000 }, () => 1), x: '<'.repeat(60_000) },
  ],
  'deep scopes': [
    `${'{{#a}}'.repeat(19)}{{#l}}${'{{none}}'.repeat(100)}{{/l}}${'{{/a}}'.repeat(19)}`,
    { a: { x: 1 }, l: Array.from({ length: 1_000 }, () => 1) },
  ],
  'much data as JSON, often': [
    '{{#l}}{{{d}}}{{/l}}',
    { l: Array.from({ length: 1_000 }, () => 1), d: Array.from({ length: 100_000 }, () => 1) },
  ],
  'line breaks in a subject': ['{{x}}', { x: 'a\n'.repeat(10_000_000) }],
  'a long variable often': ['{{x}}'.repeat(1_000), { x: '&'.repeat(1_000_000) }],
  'a long name often': [
    `{{#l}}{{${'a.'.repeat(500_000)}a}}{{/l}}`,
    { l: Array.from({ length: 10_000 }, () => 1) },
  ],
}

/** Data as it is, and how often somebody has looked into it. */
function watched<Data extends object>(data: Data): { data: Data; looks: () => number } {
  let looks = 0
  const watch = (value: unknown): unknown =>
    typeof value === 'object' && value !== null ? proxy(value) : value
  const proxy = <Value extends object>(value: Value): Value =>
    new Proxy(value, {
      getOwnPropertyDescriptor(target, key) {
        looks += 1
        return Reflect.getOwnPropertyDescriptor(target, key)
      },
      get(target, key) {
        looks += 1
        return watch(Reflect.get(target, key))
      },
    })
  return { data: proxy(data), looks: () => looks }
}

const TAGS = [
  '{{a}}',
  '{{{a}}}',
  '{{a.b.c}}',
  '{{.}}',
  '{{none}}',
  '{{none.a ?? x}}',
  '{{{l}}}',
  'text',
  '<&>',
]
const SECTIONS = ['#a', '#l', '#l', '#b', '^none', '#a.b']

const anyTemplate = fc.letrec<{ template: string; section: string }>((tie) => ({
  template: fc
    .array(fc.oneof({ withCrossShrink: true }, fc.constantFrom(...TAGS), tie('section')), { maxLength: 4 })
    .map((parts) => parts.join('')),
  section: fc
    .tuple(fc.constantFrom(...SECTIONS), tie('template'))
    .map(([sigil, inner]) => `{{${sigil}}}${inner}{{/${sigil.slice(1)}}}`),
})).template

const anyData = fc.record({
  a: fc.oneof(fc.string(), fc.constant({ b: { c: '<&>' } }), fc.constant('<'.repeat(1_000))),
  b: fc.constantFrom(true, false, { a: { b: { a: 1 } } }),
  l: fc.array(fc.constantFrom<JsonValue>(1, '&', { a: 'x' }, { l: [1, 2, 3], b: {} }), { maxLength: 40 }),
})

const KINDS: Record<string, (template: string, view: rendering.View) => unknown> = {
  'a body': renderBody,
  'a subject': renderSubject,
  variables: (template, view) => variablesOf([template], view),
}

scenario('What rendering may cost', nothingShared, (test) => {
  for (const [kind, render] of Object.entries(KINDS)) {
    test(`is never passed by ${kind}, whatever template and data are`, () => {
      let givenUp = 0
      const stays = (template: string, given: JsonObject, work: number, characters: number) => {
        const { data, looks } = watched(given)
        const used = tools({ work, characters })
        try {
          const result = render(template, viewOf(data, used))
          assert.ok(used.meter.spent.work <= work)
          if (typeof result === 'string') assert.ok(result.length <= characters + template.length)
        } catch (error) {
          if (!(error instanceof RenderedTooLarge)) throw error
          givenUp += 1
        }
        // Each look costs 50 at least; one value may be looked into a few times before it is paid for.
        assert.ok(looks() <= work / 50 + 10, `${looks()} looks for ${work}: ${template}`)
      }
      const work = fc.constantFrom(0, 1_000, 10_000, 100_000, 1_000_000)
      const characters = fc.constantFrom(10, 1_000, 100_000)
      fc.assert(fc.property(anyTemplate, anyData, work, characters, stays), { numRuns: 1_000 })
      assert.ok(givenUp > 50, `${givenUp} were given up`)
    })
  }

  test('counts every scope and every step of a path', () => {
    const costOf = (template: string, variables: JsonObject) => {
      const used = tools()
      renderHtml(template, viewOf(variables, used))
      return used.meter.spent.work
    }
    const nested = (depth: number, tag: string) => '{{#a}}'.repeat(depth) + tag + '{{/a}}'.repeat(depth)
    const flat = costOf('{{none}}', { a: {} }) - costOf('x{{! none }}', { a: {} })
    const deep = costOf(nested(19, '{{none}}'), { a: {} }) - costOf(nested(19, ''), { a: {} })
    assert.ok(deep >= flat + 19 * 100, `${deep}, at the top ${flat}`)
    const a = { a: { a: { a: {} } } }
    assert.ok(costOf('{{a.a.a.a}}', { a }) >= costOf('{{a}}', { a: 1 }) + 3 * 50)
  })

  test('counts what is escaped, and what that adds', () => {
    const costOf = (template: string, x: string) => {
      const used = tools()
      renderHtml(template, viewOf({ x }, used))
      return used.meter.spent.work
    }
    const [plain, special] = ['x'.repeat(100_000), '<'.repeat(100_000)]
    assert.ok(costOf('{{x}}', plain) >= costOf('{{{x}}}', plain) + 99_999)
    assert.ok(costOf('{{x}}', special) >= costOf('{{x}}', plain) + 299_999)
  })

  test('lets long texts pass in pieces, which change nothing', () => {
    const text = `${'x'.repeat(65_535)}\r\n<&>${'\n'.repeat(70_000)}`
    assert.is(html('{{x}}', { x: text }), escapeHtml(text))
    const lines = text.replaceAll('<&>', '')
    assert.is(renderBody(lines, viewOf({}, tools())), lines.replace(/\r\n|\n/g, '<br>\n'))
  })
})

scenario('A hostile template', nothingShared, (test) => {
  for (const [kind, [template, variables]] of Object.entries(HOSTILE)) {
    test(`is given up soon: ${kind}`, () => {
      const startedAt = performance.now()
      try {
        if (kind.includes('subject')) subject(template, variables)
        else html(template, variables)
        assert.unreachable('it was rendered')
      } catch (error) {
        if (!(error instanceof RenderedTooLarge)) throw error
      }
      assert.ok(performance.now() - startedAt < 30_000)
    })
  }

  test('is parsed once, also when it is large', () => {
    const { meter, templates } = tools()
    const template = `{{x}}${'x'.repeat(1_000_000)}`
    assert.is(templates.tokensOf(template, meter), templates.tokensOf(template, meter))
  })

  test('with a megabyte of blanks in a tag is read in no time', () => {
    const blanks = ' '.repeat(1_000_000)
    const startedAt = performance.now()
    for (const template of [
      `{{${blanks}`,
      `{{x${blanks}`,
      `{{{x${blanks}}}`,
      `{{=${blanks}`,
      `{{x ??${blanks}y}}`,
    ]) {
      if (isValid(template)) html(template)
    }
    assert.ok(performance.now() - startedAt < 20_000)
  })

  test('of many tags in one line is read in no time', () => {
    const startedAt = performance.now()
    checkTemplate(`${'a'.repeat(100)}{{x}}`.repeat(100_000))
    assert.ok(performance.now() - startedAt < 20_000)
  })

  test('of forty megabytes is read in a moment', () => {
    const row = '<p>Nothing but text, and a line break.</p>\n'
    const template = `{{x}}${row.repeat(40_000_000 / row.length)}`
    const startedAt = performance.now()
    assert.is(html(template, { x: 'y' }).length, template.length - 4)
    assert.ok(performance.now() - startedAt < 20_000)
  })
})
