import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { sendBody } from '../../support/mailing.ts'
import { scenario } from '../../support/scenario.ts'
import { runs } from '../../support/seeded.ts'
import { type Answer, type Body, type Service, startService } from '../../support/service.ts'
import { assertNothingStored, rowCounts } from './send-support.ts'

const start = () => startService({ ROLES: 'http' })

const CODES: Record<number, string[]> = {
  400: ['INVALID_REQUEST_BODY', 'CONTACT_UNSUBSCRIBED', 'BAD_REQUEST'],
  403: ['INTERNAL_SERVER_ERROR'],
  404: ['TEMPLATE_NOT_FOUND'],
  413: ['PAYLOAD_TOO_LARGE'],
  422: ['VALIDATION_ERROR'],
}

/** Everything that the field codes of the contract allow. */
const FIELD_CODES = new Set(
  `required invalid_type invalid_string too_small too_big invalid_enum_value invalid_date unrecognized_keys
   reserved_event custom`.split(/\s+/),
)

/** Stands for JSON that JSON.stringify cannot write. */
const RAW: Record<string, string> = {
  '@deep@': '['.repeat(50_000) + ']'.repeat(50_000),
  '@deep-objects@': '{"a":'.repeat(5_000) + 1 + '}'.repeat(5_000),
  '@infinite@': '1e999',
  '@proto@': '{"__proto__":{"toJSON":1,"then":1},"constructor":{"prototype":1},"hasOwnProperty":1}',
  '@twice@': '{"a":1,"a":{"a":2}}',
}

const hostile: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, true, false, 0, -1, 1.5, 1e308, '', ' ', [], {}, [[]], [null], [{}], { email: null }),
  fc.constantFrom(
    '\0',
    '\ud800',
    '\udc00x',
    'a\r\nBcc: b@c.de',
    '\u2028',
    '\u202e',
    '\ufeff',
    '<',
    '"',
    "'",
    '\\',
  ),
  fc.constantFrom(
    '{{',
    '}}',
    '{{#a}}',
    '{{/a}}',
    '{{{x',
    '{{=<% %>=}}',
    '{{x ?? }}',
    '{{__proto__}}',
    '{{.}}',
  ),
  fc.constantFrom('a@b.co', 'A <a@b.co>', 'a@b.co, c@d.co', '<a@b.co>,', '@', 'a@', '@b.co', 'a@xn--zz--.co'),
  fc.constantFrom(
    '00000000-0000-7000-8000-000000000000',
    'email.sent',
    'segment.x.entry',
    '2026-02-30',
    '1e400',
  ),
  fc.constantFrom(...Object.keys(RAW)),
  fc
    .constantFrom('x', '<', '"', '\0', '😀', '{{x}}', '{{#x}}', ' ', '\r\n')
    .map((text) => text.repeat(1_000_000 / text.length)),
  fc.constantFrom(1, {}, 'a@b.co', null).map((item) => Array.from({ length: 20_000 }, () => item)),
  fc
    .constantFrom(1, null, '')
    .map((item) => Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, item]))),
  fc.string({ unit: 'binary' }),
  fc.jsonValue({ stringUnit: 'binary' }),
)

const key = fc.oneof(
  fc.constantFrom(
    'to',
    'email',
    'name',
    'data',
    'x',
    '',
    '__proto__',
    'constructor',
    'a\0',
    '\ud800',
    'Bcc',
    '0',
    'toString',
  ),
  fc.string(),
)

/** One change of a valid body: where (numbers choose among what is there), and what happens there. */
const mutation = fc.record({
  steps: fc.array(fc.nat(50), { minLength: 1, maxLength: 4 }),
  kind: fc.constantFrom('replace', 'replace', 'replace', 'delete', 'add'),
  key,
  value: hostile,
})
type Mutation = { steps: number[]; kind: string; key: string; value: unknown }

/** A list that holds one object many times must not have all of them changed by the next mutation. */
const unshared = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** Assigning to a key such as __proto__ would do something else. */
const OWN = { enumerable: true, configurable: true, writable: true }

function mutated(body: Body, mutations: Mutation[]): Body {
  const copy = structuredClone(body)
  for (const { steps, kind, key, value } of mutations) {
    let target = copy
    let name = ''
    for (const step of steps) {
      const names: string[] = Object.keys(target)
      name = names[step % Math.max(1, names.length)] ?? ''
      if (typeof target[name] !== 'object' || target[name] === null) break
      if (step !== steps.at(-1)) target = target[name]
    }
    if (kind === 'replace') target[name] = unshared(value)
    else if (kind === 'delete') delete target[name]
    else Object.defineProperty(target, key, { ...OWN, value: unshared(value) })
  }
  return copy
}

/** Says what failed in a few lines; a value here may have a megabyte. */
async function check<Value>(
  values: fc.Arbitrary<Value>,
  numRuns: number,
  attempt: (value: Value) => Promise<void>,
): Promise<void> {
  // No search for a smaller example: over HTTP, with megabytes, it could take longer than the whole run.
  const bounds = { numRuns: runs(numRuns), endOnFailure: true, interruptAfterTimeLimit: 30_000 }
  let last: Promise<void> = Promise.resolve()
  const property = fc.asyncProperty(values, (value) => {
    last = attempt(value)
    return last
  })
  const result = await fc.check(property, bounds)
  // The time limit does not wait for the attempt under way, which would write beside the next test.
  await last.catch(() => {})
  if (!result.failed) return
  const example = fc.stringify(result.counterexample).slice(0, 1_000)
  const reason = String(result.errorInstance).slice(0, 1_000)
  throw new Error(`${reason}\nseed ${result.seed}, path "${result.counterexamplePath}": ${example}`)
}

/** Puts in each mark once: a list of thousands of them would be longer than a string can be. */
const asJson = (body: unknown): string =>
  Object.entries(RAW).reduce((text, [mark, raw]) => text.replace(`"${mark}"`, raw), JSON.stringify(body))

const sendable = ({ project }: Service): Body =>
  sendBody(project, {
    to: ['ada@example.org', 'Bob <bob@example.org>', { email: 'eve@example.org', name: 'Eve' }],
    subject: 'Hello {{name ?? friend}}',
    body: '{{#items}}<p>{{n}} {{{data.x}}}</p>{{/items}}',
    subscribed: true,
    name: 'Team',
    reply: 'help@example.org',
    data: { items: [{ n: 1 }], x: { value: '<b>', persistent: false }, gone: null, deep: { er: ['a'] } },
    headers: { 'X-A': 'a', 'X-B': 'b' },
    attachments: [
      {
        filename: 'a.txt',
        content: 'SGVsbG8=',
        contentType: 'text/plain',
        contentId: 'a',
        disposition: 'inline',
      },
    ],
  })

const trackable = (): Body => ({
  email: 'ada@example.org',
  event: 'signed_up',
  subscribed: false,
  data: { plan: 'pro', x: { value: 1, persistent: false }, gone: null, deep: { er: ['a'] } },
})

/** Answers as documented, and what is refused leaves no row. */
async function assertDocumented(
  service: Service,
  answer: Answer,
  before: Record<string, number>,
): Promise<void> {
  const { status, body, text } = answer
  if (status === 200) {
    assert.is(body.success, true)
    return
  }
  assert.ok(CODES[status]?.includes(body?.error?.code), `${status} ${text.slice(0, 500)}`)
  assert.is(body.success, false)
  assert.is(body.error.statusCode, status)
  assert.is(body.error.requestId, answer.headers.get('x-request-id'))
  assert.ok(text.length < 1_000_000, 'the answer is short')
  assert.ok(Date.parse(body.timestamp))
  for (const { field, code, message } of body.error.errors ?? []) {
    assert.type(field, 'string')
    assert.type(message, 'string')
    assert.ok(FIELD_CODES.has(code), code)
  }
  if (status === 422) assert.ok(body.error.errors.length > 0)
  // Whether data is too large together with what the contact has shows when it is stored, after its names are on record.
  const isLate = text.includes('together with what the contact has')
  await assertNothingStored(service, before, isLate ? ['contact_fields'] : [])
}

const DOORS: [path: string, keyOf: (service: Service) => string, valid: (service: Service) => Body][] = [
  ['/v1/send', ({ project }) => project.secret, sendable],
  ['/v1/track', ({ project }) => project.public, trackable],
]

scenario('Hostile input', start, (test) => {
  for (const [path, keyOf, valid] of DOORS) {
    test(`POST ${path} takes the body that the others are made from`, async (service) => {
      const answer = await service.as(keyOf(service)).post(path, valid(service))
      assert.is(answer.status, 200, answer.text)
    })

    test(`POST ${path} answers any change of a valid body as documented`, async (service) => {
      const attempt = async (mutations: Mutation[]) => {
        const before = await rowCounts(service)
        const body = asJson(mutated(valid(service), mutations))
        await assertDocumented(service, await service.as(keyOf(service)).post(path, body), before)
      }
      await check(fc.array(mutation, { minLength: 1, maxLength: 3 }), 250, attempt)
    })

    test(`POST ${path} answers any bytes as documented`, async (service) => {
      const text = asJson(valid(service))
      const bytes = fc.oneof(
        fc.uint8Array({ maxLength: 200 }),
        fc.nat(text.length).map((length) => Buffer.from(text.slice(0, length))),
        fc.tuple(fc.nat(text.length - 1), fc.integer({ min: 0, max: 255 })).map(([index, byte]) => {
          const changed = Buffer.from(text)
          changed[index] = byte
          return changed
        }),
        fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
      )
      const attempt = async (body: Uint8Array) => {
        const before = await rowCounts(service)
        await assertDocumented(service, await service.as(keyOf(service)).post(path, body), before)
      }
      await check(bytes, 100, attempt)
    })
  }

  test('sendEmail answers any change of valid variables as documented', async (service) => {
    const query = 'mutation ($input: SendEmailInput!) { sendEmail(input: $input) { timestamp } }'
    const attempt = async (mutations: Mutation[]) => {
      const before = await rowCounts(service)
      const input = mutated(sendable(service), mutations)
      const body = asJson({ query, variables: { input } })
      const answer = await service.as().post('/graphql', body)
      if (answer.body?.data?.sendEmail) return
      assert.ok(answer.body?.errors?.length > 0, `${answer.status} ${answer.text.slice(0, 500)}`)
      for (const { extensions } of answer.body.errors) {
        assert.ok(CODES[extensions.statusCode]?.includes(extensions.code), answer.text.slice(0, 500))
        assert.is(extensions.requestId, answer.headers.get('x-request-id'))
      }
      await assertNothingStored(service, before)
    }
    await check(fc.array(mutation, { minLength: 1, maxLength: 3 }), 120, attempt)
  })
})
