import * as assert from 'uvu/assert'
import { assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { delivered, fieldErrors, send, sendByGraphQL, sent, withoutTrace } from './send-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

const MEGABYTE = 1024 * 1024

const base64 = (text: string) => Buffer.from(text).toString('base64')
const base64Of = (bytes: number) => Buffer.alloc(bytes, 'x').toString('base64')

const file = (fields: object = {}) => ({
  filename: 'a.txt',
  content: base64('Hello'),
  contentType: 'text/plain',
  ...fields,
})

const times = <Item>(count: number, item: Item): Item[] => Array.from({ length: count }, () => item)

const filesOf = ({ sql }: Service, email: { attachment_set_id: string }) =>
  sql('select * from email_attachments where set_id = $1 order by position', [email.attachment_set_id])

const BAD: [what: string, fields: object, errors: [string, string][]][] = [
  [
    'nothing in them',
    { filename: undefined, content: undefined, contentType: undefined },
    [
      ['attachments.0.filename', 'required'],
      ['attachments.0.content', 'required'],
      ['attachments.0.contentType', 'required'],
    ],
  ],
  ['an empty name', { filename: '' }, [['attachments.0.filename', 'too_small']]],
  ['a name of 256 characters', { filename: 'n'.repeat(256) }, [['attachments.0.filename', 'too_big']]],
  ['a quote in the name', { filename: 'a".txt' }, [['attachments.0.filename', 'invalid_string']]],
  ['CR LF in the name', { filename: 'a\r\nX: y' }, [['attachments.0.filename', 'invalid_string']]],
  ['a NUL in the name', { filename: 'a\0' }, [['attachments.0.filename', 'invalid_string']]],
  ['a name that is no text', { filename: 5 }, [['attachments.0.filename', 'invalid_type']]],
  ['content that is not base64', { content: 'Hello!' }, [['attachments.0.content', 'invalid_string']]],
  ['base64 that is cut', { content: 'SGVsbG8' }, [['attachments.0.content', 'invalid_string']]],
  [
    'base64 with padding in the middle',
    { content: 'SA==SA==' },
    [['attachments.0.content', 'invalid_string']],
  ],
  ['nothing but padding', { content: '====' }, [['attachments.0.content', 'invalid_string']]],
  ['base64 with a line break', { content: 'SGVs\nbG8=' }, [['attachments.0.content', 'invalid_string']]],
  ['base64 of the URL alphabet', { content: '_-8=' }, [['attachments.0.content', 'invalid_string']]],
  ['content that is no text', { content: [72] }, [['attachments.0.content', 'invalid_type']]],
  ['a media type that is none', { contentType: 'text' }, [['attachments.0.contentType', 'invalid_string']]],
  [
    'CR LF in the media type',
    { contentType: 'text/plain\r\nX: y' },
    [['attachments.0.contentType', 'invalid_string']],
  ],
  [
    'an unknown disposition',
    { disposition: 'hidden' },
    [['attachments.0.disposition', 'invalid_enum_value']],
  ],
  ['inline without a content id', { disposition: 'inline' }, [['attachments.0.contentId', 'required']]],
  [
    'inline with an empty content id',
    { disposition: 'inline', contentId: '' },
    [['attachments.0.contentId', 'invalid_string']],
  ],
  ['a content id with brackets', { contentId: '<logo>' }, [['attachments.0.contentId', 'invalid_string']]],
  ['CR LF in the content id', { contentId: 'a\r\nb' }, [['attachments.0.contentId', 'invalid_string']]],
]

scenario('Attachments', start, (test) => {
  test('are stored once for all recipients, in their order', async (service) => {
    const attachments = [
      file(),
      file({ filename: 'logo 🎉.png', contentType: 'image/png', contentId: 'logo@1', disposition: 'inline' }),
      file({
        filename: 'empty',
        content: '',
        contentType: 'text/csv; charset=utf-8',
        disposition: 'attachment',
      }),
    ]
    const answer = await send(service, { to: ['f1@example.org', 'f2@example.org'], attachments })
    assert.is(answer.status, 200, answer.text)
    const emails = await service.sql<{ attachment_set_id: string }>(
      `select attachment_set_id from emails where to_email in ('f1@example.org', 'f2@example.org')`,
    )
    assert.is(new Set(emails.map((email) => email.attachment_set_id)).size, 1)
    const [email] = emails
    assert.ok(email)
    assert.equal(
      (await filesOf(service, email)).map((row) => [
        row.filename,
        row.content_type,
        row.disposition,
        row.content_id,
        row.content.toString(),
      ]),
      [
        ['a.txt', 'text/plain', 'attachment', null, 'Hello'],
        ['logo 🎉.png', 'image/png', 'inline', 'logo@1', 'Hello'],
        ['empty', 'text/csv; charset=utf-8', 'attachment', null, ''],
      ],
    )
  })

  for (const [what, fields, errors] of BAD) {
    test(`may not have ${what}`, async (service) => {
      const answer = await withoutTrace(service, () => send(service, { attachments: [file(fields)] }))
      assert.equal(fieldErrors(answer), errors)
    })
  }

  test('say which of them is wrong', async (service) => {
    const attachments = [file(), file({ content: '?' }), null]
    const answer = await send(service, { attachments })
    assert.equal(fieldErrors(answer), [
      ['attachments.1.content', 'invalid_string'],
      ['attachments.2', 'invalid_type'],
    ])
  })

  test('say it of a thousand at most', async (service) => {
    const answer = await withoutTrace(service, () => send(service, { attachments: times(20_000, {}) }))
    assert.is(fieldErrors(answer).length, 1_000)
  })

  test('may be ten, and not eleven', async (service) => {
    const { email } = await sent(service, { attachments: times(10, file()) })
    assert.is((await filesOf(service, email)).length, 10)
    const answer = await withoutTrace(service, () => send(service, { attachments: times(11, file()) }))
    assert.equal(fieldErrors(answer), [['attachments', 'too_big']])
    const { body } = await sendByGraphQL(service, { attachments: times(11, file()) })
    assert.equal(body.errors[0].extensions.errors[0].field, 'attachments')
  })

  test('may have 10 MB together, counted in decoded bytes', async (service) => {
    const attachments = [file({ content: base64Of(4 * MEGABYTE) }), file({ content: base64Of(6 * MEGABYTE) })]
    const { email } = await sent(service, { attachments })
    const files = await filesOf(service, email)
    assert.equal(
      files.map(({ content }) => content.length),
      [4 * MEGABYTE, 6 * MEGABYTE],
    )
  })

  test('may not have a byte more', async (service) => {
    const attachments = [
      file({ content: base64Of(4 * MEGABYTE) }),
      file({ content: base64Of(6 * MEGABYTE + 1) }),
    ]
    const answer = await withoutTrace(service, () => send(service, { attachments }))
    assertRefused(answer, 413, 'PAYLOAD_TOO_LARGE')
    const { body } = await sendByGraphQL(service, { attachments })
    assert.equal(
      [body.errors[0].extensions.code, body.errors[0].extensions.statusCode],
      ['PAYLOAD_TOO_LARGE', 413],
    )
  })

  test('that are far too large are too large, not an accident', async (service) => {
    const attachments = [file({ content: base64Of(35 * MEGABYTE) })]
    assertRefused(await withoutTrace(service, () => send(service, { attachments })), 413, 'PAYLOAD_TOO_LARGE')
  })
})

scenario(
  'Attachments under other limits',
  () => startService({ ROLES: 'http', MAX_ATTACHMENTS: '2', MAX_ATTACHMENT_MB: '1' }),
  (test) => {
    test('keep to the configured count and size', async (service) => {
      assert.is((await send(service, { attachments: times(2, file()) })).status, 200)
      assert.equal(fieldErrors(await send(service, { attachments: times(3, file()) })), [
        ['attachments', 'too_big'],
      ])
      const large = file({ content: base64Of(MEGABYTE + 1) })
      assertRefused(await send(service, { attachments: [large] }), 413, 'PAYLOAD_TOO_LARGE')
    })
  },
)

scenario('The size of a message', start, (test) => {
  test('may be 40 MB', async (service) => {
    const body = 'x'.repeat(40 * MEGABYTE)
    assert.is((await sent(service, { body })).email.html.length, body.length)
  })

  test('may be 40 MB of lines, when it is text', async (service) => {
    const body = `${'x'.repeat(99)}\n`.repeat(380_000)
    assert.is((await sent(service, { body })).email.html.length, body.length + 380_000 * '<br>'.length)
  })

  test('may not be more, in bytes', async (service) => {
    for (const body of ['x'.repeat(40 * MEGABYTE + 1), 'ü'.repeat(20 * MEGABYTE + 1)]) {
      assertRefused(await withoutTrace(service, () => send(service, { body })), 413, 'PAYLOAD_TOO_LARGE')
    }
  })

  test('counts the attachments as they travel', async (service) => {
    const attachments = [file({ content: base64Of(10 * MEGABYTE) })]
    const fits = { attachments, body: 'x'.repeat(26 * MEGABYTE) }
    const exceeds = { attachments, body: 'x'.repeat(27 * MEGABYTE) }
    assert.is((await send(service, fits)).status, 200)
    assertRefused(await withoutTrace(service, () => send(service, exceeds)), 413, 'PAYLOAD_TOO_LARGE')
  })

  test('counts what variables make of it', async (service) => {
    const data = { x: { value: 'x'.repeat(MEGABYTE), persistent: false } }
    const body = '{{x}}'.repeat(41)
    assertRefused(await withoutTrace(service, () => send(service, { body, data })), 413, 'PAYLOAD_TOO_LARGE')
  })

  test('is limited for all recipients of a request together', async (service) => {
    const to = Array.from({ length: 10 }, (_, index) => `large${index}@example.org`)
    const body = `{{email}}${'x'.repeat(10 * MEGABYTE)}`
    assertRefused(await withoutTrace(service, () => send(service, { to, body })), 413, 'PAYLOAD_TOO_LARGE')
  })

  test('of a request is limited before it is read', async (service) => {
    const body = 'x'.repeat(60 * MEGABYTE)
    assertRefused(await withoutTrace(service, () => send(service, { body })), 413, 'PAYLOAD_TOO_LARGE')
  })
})

scenario('A mail with attachments that was sent', startService, (test) => {
  test('carries every byte of them', async (service) => {
    const bytes = Buffer.from(Array.from({ length: 3_000 }, (_, index) => (index * 7) % 256))
    const attachments = [
      file({
        filename: 'bytes.bin',
        content: bytes.toString('base64'),
        contentType: 'application/octet-stream',
      }),
      file({ filename: "größe 'x' 🎉; a=b.txt" }),
      file({ filename: 'logo.png', contentType: 'image/png', contentId: 'logo', disposition: 'inline' }),
    ]
    const answer = await send(service, { attachments, body: '<img src="cid:logo">' })
    const { message } = await delivered(service, answer.body.data.emails[0].email)
    const byName = new Map(message.attachments.map((item) => [item.filename, item]))
    const content = (name: string) => Buffer.from(new Uint8Array(byName.get(name)?.content as ArrayBuffer))
    assert.ok(content('bytes.bin').equals(bytes))
    assert.is(content("größe 'x' 🎉; a=b.txt").toString(), 'Hello')
    assert.is(byName.get('logo.png')?.contentId, '<logo>')
    assert.is(byName.get('logo.png')?.disposition, 'inline')
  })
})
