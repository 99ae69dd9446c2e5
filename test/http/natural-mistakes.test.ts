import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import * as assert from 'uvu/assert'
import { sendBody } from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { type Body, type CallOptions, type Service, startService } from '../support/service.ts'

type Context = Service & { send: object; pending: string }

/** What someone sends who has not read everything, and what the answer says about it, in any case and order. */
type Mistake = {
  what: string
  request: (context: Context) => [method: string, path: string, options?: CallOptions]
  status: number
  /** None: the short form of an error, `{ error }`. */
  code?: string
  words: string[]
}

const NOBODY = '0197a3c2-5e00-7000-8000-4d61696c7772'

/** A send with the secret key; the fields are added to those of a good one. */
const sending =
  (fields: object): Mistake['request'] =>
  ({ project, send }) => ['POST', '/v1/send', { key: project.secret, body: { ...send, ...fields } }]

const withSecret =
  (method: string, path: string, body?: unknown): Mistake['request'] =>
  ({ project }) => [method, path, { key: project.secret, ...(body !== undefined && { body }) }]

const tracking =
  (body: object): Mistake['request'] =>
  ({ project }) => ['POST', '/v1/track', { key: project.public, body }]

/** A good send, under another header Authorization. */
const authorized =
  (header: (project: Service['project']) => Record<string, string>): Mistake['request'] =>
  ({ project, send }) => ['POST', '/v1/send', { headers: header(project), body: send }]

const bearer = (text: string) => ({ authorization: `Bearer ${text}` })

const KEYS: Mistake[] = [
  {
    what: 'no key',
    request: authorized(() => ({})),
    status: 401,
    code: 'MISSING_AUTH',
    words: ['Authorization: Bearer'],
  },
  {
    what: 'the key in X-API-Key',
    request: authorized(({ secret }) => ({ 'x-api-key': secret })),
    status: 401,
    code: 'MISSING_AUTH',
    words: ['Authorization: Bearer'],
  },
  {
    what: 'the key in the query string',
    request: ({ project, send }) => ['POST', `/v1/send?api_key=${project.secret}`, { body: send }],
    status: 401,
    code: 'MISSING_AUTH',
    words: ['Authorization: Bearer'],
  },
  {
    what: 'a key without Bearer',
    request: authorized(({ secret }) => ({ authorization: secret })),
    status: 401,
    code: 'INVALID_API_KEY',
    words: ['Bearer is missing'],
  },
  {
    what: 'Basic authentication',
    request: authorized(({ secret }) => ({
      authorization: `Basic ${Buffer.from(`${secret}:`).toString('base64')}`,
    })),
    status: 401,
    code: 'INVALID_API_KEY',
    words: ['Basic', 'Bearer'],
  },
  {
    what: 'the scheme Token',
    request: authorized(({ secret }) => ({ authorization: `Token ${secret}` })),
    status: 401,
    code: 'INVALID_API_KEY',
    words: ['Authorization: Bearer'],
  },
  {
    what: 'Bearer twice',
    request: authorized(({ secret }) => bearer(`Bearer ${secret}`)),
    status: 401,
    code: 'INVALID_API_KEY',
    words: ['What follows Bearer is no API key'],
  },
  {
    what: 'a key in quotation marks',
    request: authorized(({ secret }) => bearer(`"${secret}"`)),
    status: 401,
    code: 'INVALID_API_KEY',
    words: ['without quotation marks'],
  },
  {
    what: 'a placeholder',
    request: authorized(() => bearer('<API_KEY>')),
    status: 401,
    code: 'INVALID_API_KEY',
    words: ['64 characters'],
  },
  {
    what: 'a variable that is not set',
    request: authorized(() => ({ authorization: 'Bearer' })),
    status: 401,
    code: 'INVALID_API_KEY',
    words: ['What follows Bearer'],
  },
  {
    what: 'a part of the key',
    request: authorized(({ secret }) => bearer(secret.slice(0, 40))),
    status: 401,
    code: 'INVALID_API_KEY',
    words: ['whole key'],
  },
  {
    what: 'a key of nobody',
    request: authorized(() => bearer(`sk_${'0'.repeat(64)}`)),
    status: 401,
    code: 'INVALID_API_KEY',
    words: ['not valid', 'rotate-keys'],
  },
  {
    what: 'the public key to send',
    request: authorized(({ public: key }) => bearer(key)),
    status: 401,
    code: 'INVALID_API_KEY',
    words: ['public key', 'secret key of the project (sk_'],
  },
  {
    what: 'the public key to list contacts',
    request: ({ project }) => ['GET', '/contacts', { key: project.public }],
    status: 401,
    code: 'INVALID_API_KEY',
    words: ['secret key of the project (sk_'],
  },
  {
    what: 'the secret key to track',
    request: ({ project }) => [
      'POST',
      '/v1/track',
      { key: project.secret, body: { email: 'a@example.org', event: 'e' } },
    ],
    status: 401,
    code: 'INVALID_API_KEY',
    words: ['public key of the project (pk_', '/events/track'],
  },
]

const PATHS: Mistake[] = (
  [
    ['POST', '/v1/send/', 'POST /v1/send'],
    ['POST', '/send', 'POST /v1/send'],
    ['POST', '/track', 'POST /v1/track'],
    ['POST', '/verify', 'POST /v1/verify'],
    ['POST', '/api/v1/send', 'POST /v1/send'],
    ['POST', '/V1/Send', 'POST /v1/send'],
    ['POST', '//v1/send', 'POST /v1/send'],
    ['POST', '/v1/sned', 'POST /v1/send'],
    ['POST', '/v1/emails', 'POST /v1/send'],
    ['POST', '/emails', 'POST /v1/send'],
    ['GET', '/v1/contacts', 'GET /contacts'],
    ['GET', '/v2/contacts', 'GET /contacts'],
    ['GET', '/contact', 'GET /contacts'],
    ['GET', '/contacts/', 'GET /contacts'],
    ['GET', `/v1/contacts/${NOBODY}`, `GET /contacts/${NOBODY}`],
    ['GET', `/template/${NOBODY}`, `GET /templates/${NOBODY}`],
    ['GET', '/api/templates', 'GET /templates'],
    ['GET', '/segmnets', 'GET /segments'],
    ['POST', '/v1/events/track', 'POST /events/track'],
    ['GET', '/docs/', 'GET /docs'],
    ['GET', '/swagger', 'GET /docs'],
    ['POST', '/graphql/', 'POST /graphql'],
    ['GET', '/healthz', 'GET /health/ready'],
  ] as const
).map(([method, path, meant]) => ({
  what: `${method} ${path}`,
  request: withSecret(method, path),
  status: 404,
  code: 'RESOURCE_NOT_FOUND',
  words: [`Did you mean ${meant}?`],
}))

const METHODS: Mistake[] = [
  {
    what: 'GET where POST is',
    request: withSecret('GET', '/v1/send'),
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    words: ['GET is not possible at /v1/send; it takes POST'],
  },
  {
    what: 'PUT where PATCH is',
    request: withSecret('PUT', `/contacts/${NOBODY}`, {}),
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    words: ['PATCH'],
  },
  {
    what: 'a list that is elsewhere',
    request: withSecret('GET', '/domains'),
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    words: ['it takes POST'],
  },
  {
    what: 'POST where GET is',
    request: withSecret('POST', '/events/stats', {}),
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    words: ['it takes GET'],
  },
]

const BODIES: Mistake[] = [
  {
    what: 'a trailing comma',
    request: ({ project }) => ['POST', '/v1/send', { key: project.secret, body: '{"to":"a@example.org",}' }],
    status: 400,
    code: 'INVALID_REQUEST_BODY',
    words: ['not valid JSON'],
  },
  {
    what: 'single quotes',
    request: ({ project }) => ['POST', '/v1/send', { key: project.secret, body: "{'to':'a@example.org'}" }],
    status: 400,
    code: 'INVALID_REQUEST_BODY',
    words: ['not valid JSON'],
  },
  {
    what: 'a list of messages',
    request: ({ project, send }) => ['POST', '/v1/send', { key: project.secret, body: [send] }],
    status: 400,
    code: 'INVALID_REQUEST_BODY',
    words: ['must be a JSON object'],
  },
  {
    what: 'a form',
    request: ({ project }) => [
      'POST',
      '/v1/send',
      {
        key: project.secret,
        body: 'to=a%40example.org',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
    ],
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    words: ['Content-Type: application/json'],
  },
  {
    what: 'plain text',
    request: ({ project, send }) => [
      'POST',
      '/v1/send',
      { key: project.secret, body: JSON.stringify(send), headers: { 'content-type': 'text/plain' } },
    ],
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    words: ['Content-Type: application/json'],
  },
  {
    what: 'JSON where a file is',
    request: withSecret('POST', '/contacts/import', { file: 'email' }),
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    words: ['multipart/form-data', 'curl -F file=@'],
  },
  {
    what: 'a coding that nobody knows',
    request: ({ project, send }) => [
      'POST',
      '/v1/send',
      { key: project.secret, body: send, headers: { 'content-encoding': 'zstd' } },
    ],
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    words: ['zstd', 'gzip'],
  },
  {
    what: 'gzip that is none',
    request: ({ project, send }) => [
      'POST',
      '/v1/send',
      { key: project.secret, body: send, headers: { 'content-encoding': 'gzip' } },
    ],
    status: 400,
    code: 'INVALID_REQUEST_BODY',
    words: ['not valid gzip', 'Content-Encoding'],
  },
  {
    what: 'gzip without saying so',
    request: ({ project, send }) => [
      'POST',
      '/v1/send',
      { key: project.secret, body: gzipSync(JSON.stringify(send)) },
    ],
    status: 400,
    code: 'INVALID_REQUEST_BODY',
    words: ['not valid'],
  },
  {
    what: 'no body',
    request: withSecret('POST', '/v1/send'),
    status: 422,
    code: 'VALIDATION_ERROR',
    words: ['to is required', 'subject is required without a template'],
  },
]

const field = (what: string, fields: object, ...words: string[]): Mistake => ({
  what,
  request: sending(fields),
  status: 422,
  code: 'VALIDATION_ERROR',
  words,
})

const SENDS: Mistake[] = [
  field(
    'subjet',
    { subject: undefined, subjet: 'Hi' },
    'subject is required',
    'did you mean "subject"?',
    '"subjet" is not a field',
  ),
  field(
    'html',
    { body: undefined, html: '<p>Hi</p>' },
    'body is required',
    '"html" is not a field: did you mean "body"?',
  ),
  field('text', { body: undefined, text: 'Hi' }, '"text" is not a field: did you mean "body"?'),
  field(
    'recipient',
    { to: undefined, recipient: 'a@example.org' },
    'to is required',
    '"recipient" is not a field: did you mean "to"?',
  ),
  field(
    'sender',
    { from: undefined, sender: 'a@example.org' },
    '"sender" is not a field: did you mean "from"?',
  ),
  field('From', { from: undefined, From: 'a@example.org' }, '"From" is not a field: did you mean "from"?'),
  field('no sender', { from: undefined }, 'from is required without a template'),
  field(
    'addresses with commas',
    { to: 'a@example.org, b@example.org' },
    'to must be one email address; several recipients are a list',
  ),
  field('no recipient in the list', { to: [] }, 'at least one recipient'),
  field('an address without a domain', { to: 'ada' }, 'to must be an email address'),
  field('one bad address of two', { to: ['a@example.org', 'b@'] }, 'to.1 must be an email address'),
  field('a recipient as a number', { to: 5 }, 'must be an address or { name, email }'),
  field('a recipient without email', { to: { address: 'a@example.org' } }, 'to.email is required'),
  field('a sender without a domain', { from: 'hello' }, 'from must be an email address'),
  field('a subject of two lines', { subject: 'Hi\nthere' }, 'subject must not contain line breaks'),
  field('an empty subject', { subject: '' }, 'subject must have at least 1 character'),
  field('a subject as a number', { subject: 5 }, 'subject must be a string'),
  field('an empty body', { body: '' }, 'body must have at least 1 character'),
  field('a template by its name', { template: 'welcome' }, 'template must be a UUID'),
  field('subscribed as text', { subscribed: 'true' }, 'subscribed must be true or false'),
  field('data as text', { data: '{"plan":"pro"}' }, 'data must be an object'),
  field('data as a list', { data: [{ name: 'plan', content: 'pro' }] }, 'data must be an object'),
  field('headers as a list', { headers: [{ name: 'X-Tag', value: 'a' }] }, 'headers must be an object'),
  field('a header that is not text', { headers: { 'X-Number': 5 } }, 'headers.X-Number must be a string'),
  field('a copy by a header', { headers: { Bcc: 'a@example.org' } }, 'headers.Bcc is left to the service'),
  field('reply as a name', { reply: 'Support' }, 'reply must be an email address'),
  field(
    'one attachment',
    { attachments: { filename: 'a.txt', content: 'YQ==', contentType: 'text/plain' } },
    'attachments must be a list',
  ),
  field(
    'an attachment of another API',
    { attachments: [{ name: 'a.txt', content: 'YQ==', type: 'text/plain' }] },
    'attachments.0.filename is required',
    '"attachments.0.name" is not a field: did you mean "attachments.0.filename"?',
  ),
  field(
    'a data URL',
    {
      attachments: [{ filename: 'a.txt', content: 'data:text/plain;base64,YQ==', contentType: 'text/plain' }],
    },
    'must be base64, without "data:',
  ),
  field(
    'inline without a name',
    {
      attachments: [{ filename: 'a.png', content: 'YQ==', contentType: 'image/png', disposition: 'inline' }],
    },
    'contentId is required for an inline attachment',
  ),
  field(
    'another disposition',
    {
      attachments: [
        { filename: 'a.png', content: 'YQ==', contentType: 'image/png', disposition: 'embedded' },
      ],
    },
    'must be one of attachment, inline',
  ),
  field('a partial', { body: '<p>Hi</p>\n{{> footer}}' }, 'There are no partials: {{> footer}} (line 2)'),
  field(
    'a partial in the subject',
    { subject: '{{> title}}' },
    'subject is not a valid template',
    '{{> title}} (line 1)',
  ),
  field('a section that is left open', { body: '{{#items}}x' }, 'Unclosed section "items" (line 1)'),
  field('an open tag', { body: 'Hi {{name' }, 'Unclosed tag (line 1)'),
  {
    what: 'a template of nobody',
    request: sending({ template: NOBODY }),
    status: 404,
    code: 'TEMPLATE_NOT_FOUND',
    words: ['template was not found'],
  },
  {
    what: 'a domain of nobody',
    request: sending({ from: 'a@nobody.example' }),
    status: 403,
    code: 'INTERNAL_SERVER_ERROR',
    words: ['nobody.example is not verified', 'POST /domains'],
  },
  {
    what: 'a domain that waits for its verification',
    request: ({ project, send, pending }) => [
      'POST',
      '/v1/send',
      { key: project.secret, body: { ...send, from: `a@${pending}` } },
    ],
    status: 403,
    code: 'INTERNAL_SERVER_ERROR',
    words: ['was added', 'not verified yet', 'DNS records', '--force'],
  },
  {
    what: 'an empty Idempotency-Key',
    request: ({ project, send }) => [
      'POST',
      '/v1/send',
      { key: project.secret, body: send, headers: { 'idempotency-key': '' } },
    ],
    status: 400,
    code: 'INVALID_IDEMPOTENCY_KEY',
    words: ['1 to 255'],
  },
]

const OTHERS: Mistake[] = [
  {
    what: 'a track without its event',
    request: tracking({ email: 'a@example.org' }),
    status: 422,
    code: 'VALIDATION_ERROR',
    words: ['event is required'],
  },
  {
    what: 'eventName',
    request: tracking({ email: 'a@example.org', eventName: 'e' }),
    status: 422,
    code: 'VALIDATION_ERROR',
    words: ['"eventName" is not a field: did you mean "event"?'],
  },
  {
    what: 'emailAddress',
    request: tracking({ emailAddress: 'a@example.org', event: 'e' }),
    status: 422,
    code: 'VALIDATION_ERROR',
    words: ['"emailAddress" is not a field: did you mean "email"?'],
  },
  {
    what: 'an event as a number',
    request: tracking({ email: 'a@example.org', event: 5 }),
    status: 422,
    code: 'VALIDATION_ERROR',
    words: ['event must be a string'],
  },
  {
    what: 'an event of the service',
    request: tracking({ email: 'a@example.org', event: 'email.opened' }),
    status: 422,
    code: 'VALIDATION_ERROR',
    words: ['event is reserved'],
  },
  {
    what: 'a contact without an address',
    request: withSecret('POST', '/contacts', { name: 'Ada' }),
    status: 400,
    words: ['email is required'],
  },
  {
    what: 'mail',
    request: withSecret('POST', '/contacts', { mail: 'a@example.org' }),
    status: 400,
    words: ['email is required', '"mail" is not a field: did you mean "email"?'],
  },
  {
    what: 'subscribed as yes',
    request: withSecret('POST', '/contacts', { email: 'a@example.org', subscribed: 'yes' }),
    status: 422,
    code: 'VALIDATION_ERROR',
    words: ['subscribed must be true or false'],
  },
  {
    what: 'a contact by its address',
    request: withSecret('GET', '/contacts/a@example.org'),
    status: 404,
    code: 'RESOURCE_NOT_FOUND',
    words: ['contact was not found'],
  },
  {
    what: 'a limit in words',
    request: withSecret('GET', '/contacts?limit=ten'),
    status: 400,
    code: 'BAD_REQUEST',
    words: ['limit must be an integer'],
  },
  {
    what: 'a cursor of one’s own',
    request: withSecret('GET', '/contacts?cursor=2'),
    status: 400,
    code: 'BAD_REQUEST',
    words: ['cursor'],
  },
  {
    what: 'a filter in words',
    request: withSecret('GET', '/contacts?subscribed=yes'),
    status: 400,
    code: 'BAD_REQUEST',
    words: ['subscribed must be true or false'],
  },
  {
    what: 'emails as text',
    request: withSecret('POST', '/contacts/lookup', { emails: 'a@example.org' }),
    status: 400,
    words: ['emails: must be a list'],
  },
  {
    what: 'ids of another name',
    request: withSecret('POST', '/contacts/bulk-delete', { ids: [NOBODY] }),
    status: 400,
    words: ['contactIds'],
  },
  {
    what: 'a template without its sender',
    request: withSecret('POST', '/templates', { name: 'T', subject: 'S', body: 'B' }),
    status: 400,
    words: ['from is required'],
  },
  {
    what: 'a template with a partial',
    request: ({ project }) => [
      'POST',
      '/templates',
      {
        key: project.secret,
        body: { name: 'T', subject: 'S', body: 'a\n\n{{>b}}', from: `a@${project.domain}` },
      },
    ],
    status: 422,
    code: 'VALIDATION_ERROR',
    words: ['body is not a valid template', '(line 3)'],
  },
  {
    what: 'a type in lower case',
    request: ({ project }) => [
      'POST',
      '/templates',
      {
        key: project.secret,
        body: { name: 'T', subject: 'S', body: 'B', from: `a@${project.domain}`, type: 'marketing' },
      },
    ],
    status: 422,
    code: 'VALIDATION_ERROR',
    words: ['type must be one of TRANSACTIONAL, MARKETING, HEADLESS'],
  },
  {
    what: 'a segment without a condition',
    request: withSecret('POST', '/segments', { name: 'S' }),
    status: 400,
    words: ['condition is required'],
  },
  {
    what: 'a logic in lower case',
    request: withSecret('POST', '/segments', {
      name: 'S',
      condition: {
        logic: 'and',
        groups: [{ filters: [{ field: 'email', operator: 'equals', value: 'a' }] }],
      },
    }),
    status: 422,
    code: 'VALIDATION_ERROR',
    words: ['condition.logic', 'AND'],
  },
  {
    what: 'a field without data.',
    request: withSecret('POST', '/segments', {
      name: 'S',
      condition: {
        logic: 'AND',
        groups: [{ filters: [{ field: 'plan', operator: 'equals', value: 'pro' }] }],
      },
    }),
    status: 422,
    code: 'VALIDATION_ERROR',
    words: ['data.'],
  },
  {
    what: 'a domain with its scheme',
    request: withSecret('POST', '/domains', { domain: 'https://example.org' }),
    status: 422,
    code: 'VALIDATION_ERROR',
    words: ['domain must be a domain name'],
  },
  {
    what: 'an address to verify without one',
    request: withSecret('POST', '/v1/verify', { address: 'a@example.org' }),
    status: 422,
    code: 'VALIDATION_ERROR',
    words: ['email is required', '"address" is not a field: did you mean "email"?'],
  },
]

const mistakes = [...KEYS, ...PATHS, ...METHODS, ...BODIES, ...SENDS, ...OTHERS]

async function start(): Promise<Context> {
  const service = await startService()
  const { project, as, sql } = service
  const pending = `p${randomUUID().slice(0, 8)}.example`
  await as(project).post('/domains', { domain: pending })
  await sql(`update domains set status = 'PENDING' where domain = $1`, [pending])
  const send = sendBody(project)
  return { ...service, pending, send }
}

/** All that an answer says to people. */
function toldBy(body: Body): string {
  if (typeof body.error === 'string') return body.error
  const { message, suggestion = '', errors = [] } = body.error
  const fields = errors.map((one: { field: string; message: string }) => `${one.field} ${one.message}`)
  return [message, suggestion, ...fields].join('\n')
}

/** What only people who know zod understand, and what no user can do anything about. */
const JARGON = /Invalid input|Too (big|small):|expected \w+, received|undefined|\bNaN\b|ZodError/

scenario('A natural mistake', start, (test) => {
  test('is one of at least 70', () => {
    assert.ok(mistakes.length >= 70, `${mistakes.length}`)
    assert.is(new Set(mistakes.map(({ what }) => what)).size, mistakes.length)
  })

  test('is none: the request that the others are made from', async ({ as, project, send }) => {
    assert.is((await as(project).post('/v1/send', send)).status, 200)
  })

  for (const { what, request, status, code, words } of mistakes) {
    test(`(${what}) is answered with what to do`, async (context) => {
      const { body, text, status: answered } = await context.call(...request(context))
      assert.is(answered, status, text)
      if (code) assert.is(body.error.code, code, text)
      else assert.type(body.error, 'string')
      const told = toldBy(body)
      for (const word of words) assert.ok(told.includes(word), `"${word}" is not in:\n${told}`)
      assert.not.match(told, JARGON)
    })
  }
})
