import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { nothingShared, scenario } from '../support/scenario.ts'
import { composed, dkimKey, dkimResults, line, linesOf, refusal } from './support.ts'

const bytesOf = (content: ArrayBuffer | Uint8Array | string): Buffer =>
  typeof content === 'string' ? Buffer.from(content) : Buffer.from(new Uint8Array(content))

scenario('The MIME message: body', nothingShared, (test) => {
  test('a line of 5,000 characters arrives whole, in lines that fit', async () => {
    const html = `<p>${'ä'.repeat(2500)}${'x'.repeat(2500)}</p>`
    const { raw, email } = await composed({ html, text: 'y'.repeat(5000) })
    assert.is(email.html?.trim(), html)
    assert.is(email.text?.trim(), 'y'.repeat(5000))
    assert.ok(linesOf(raw).every(({ length }) => length <= 998))
  })

  test('long HTML arrives whole, wherever it is cut on its way, and is signed', async () => {
    const piece = 64 * 1024
    for (const [character, encoding] of [
      ['x', 'quoted-printable'],
      ['漢', 'base64'],
      ['😀', 'base64'],
    ] as const) {
      for (const shift of [0, 1, 2]) {
        const filled = character.repeat(Math.ceil(piece / character.length))
        const html = `${'y'.repeat(shift)}${filled}\r\n${filled} \r\r\n\n${filled}\r\n\r\n${'<p>a  b </p>\r\n'.repeat(20_000)}\n\n`
        const { raw, email } = await composed({ html, dkim: dkimKey })
        assert.is(email.html?.trimEnd(), html.replace(/\r\n?/g, '\n').trimEnd())
        assert.match(raw.toString('latin1'), `Content-Transfer-Encoding: ${encoding}`)
        assert.equal(await dkimResults(raw), ['pass'])
      }
    }
  })

  test('any HTML and text is read back', async () => {
    const property = fc.asyncProperty(line, line, async (html, text) => {
      const { email } = await composed({ html: `<p>${html}</p>\n.\n..`, text: `text ${text}\n.\nend` })
      assert.is(email.html?.trimEnd(), `<p>${html}</p>\n.\n..`)
      assert.is(email.text?.trimEnd(), `text ${text}\n.\nend`)
    })
    await fc.assert(property, { numRuns: 100 })
  })

  test('every line ends with CRLF, whatever the body used', async () => {
    const { raw, email } = await composed({
      html: '<p>a</p>\r<p>b</p>\r\n<p>c</p>\n<p>d</p>',
      text: 'x\ry\nz',
    })
    const text = raw.toString('latin1')
    assert.not.match(text, /\r(?!\n)/)
    assert.not.match(text, /(?<!\r)\n/)
    assert.is(email.text?.trim(), 'x\ny\nz')
  })

  test('without attachments the message is the two alternatives, text first', async () => {
    const { raw } = await composed({})
    const types = linesOf(raw).filter((header) => header.startsWith('Content-Type:'))
    assert.equal(
      types.map((header) => header.split(';')[0]),
      ['Content-Type: multipart/alternative', 'Content-Type: text/plain', 'Content-Type: text/html'],
    )
  })
})

scenario('The MIME message: attachments', nothingShared, (test) => {
  test('attachments arrive byte for byte, with their names', async () => {
    const name = line.filter((text) => text !== '' && !text.includes('=?') && text.length < 200)
    const type = fc.constantFrom('application/pdf', 'text/plain', 'text/csv; charset=iso-8859-1', 'image/png')
    const file = fc.record({ content: fc.uint8Array({ maxLength: 3000 }), filename: name, contentType: type })
    const property = fc.asyncProperty(fc.array(file, { minLength: 1, maxLength: 3 }), async (files) => {
      const { email } = await composed({
        attachments: files.map((given) => ({
          ...given,
          content: Buffer.from(given.content),
          disposition: 'attachment' as const,
        })),
      })
      assert.equal(
        email.attachments.map(({ filename, mimeType, content, disposition }) => ({
          filename,
          mimeType,
          content: bytesOf(content).toString('hex'),
          disposition,
        })),
        files.map(({ filename, contentType, content }) => ({
          filename,
          mimeType: contentType.split(';')[0],
          content: Buffer.from(content).toString('hex'),
          disposition: 'attachment',
        })),
      )
    })
    await fc.assert(property, { numRuns: 100 })
  })

  test('an inline image stands beside the HTML that names it', async () => {
    const image = Buffer.from('89504e470d0a1a0a00ff', 'hex')
    const { raw, email } = await composed({
      html: '<img src="cid:logo@x">',
      text: 'logo',
      attachments: [
        {
          filename: 'logo.png',
          content: image,
          contentType: 'image/png',
          disposition: 'inline',
          contentId: '<logo@x>',
        },
        { filename: 'a.pdf', content: image, contentType: 'application/pdf', disposition: 'attachment' },
      ],
    })
    const types = raw.toString('latin1').match(/^Content-Type: [\w/]+/gm)
    assert.equal(types, [
      'Content-Type: multipart/mixed',
      'Content-Type: multipart/alternative',
      'Content-Type: text/plain',
      'Content-Type: multipart/related',
      'Content-Type: text/html',
      'Content-Type: image/png',
      'Content-Type: application/pdf',
    ])
    const [inline] = email.attachments.filter(({ mimeType }) => mimeType === 'image/png')
    assert.is(inline?.contentId, '<logo@x>')
    assert.is(inline?.disposition, 'inline')
    assert.equal(bytesOf(inline?.content ?? ''), image)
  })

  test('a file is shown inline when that is asked for', async () => {
    const { email } = await composed({
      attachments: [
        {
          filename: 'a.pdf',
          content: Buffer.from('a'),
          contentType: 'application/pdf',
          disposition: 'inline',
        },
      ],
    })
    assert.equal(
      email.attachments.map(({ disposition }) => disposition),
      ['inline'],
    )
  })

  test('a mail or anything with parts inside is attached as a plain file', async () => {
    const inner = Buffer.from('Subject: inner\n\nbody\n\xff', 'latin1')
    for (const contentType of ['message/rfc822', 'multipart/mixed; boundary=b', 'nonsense', '']) {
      const { email } = await composed({
        attachments: [{ filename: 'inner.eml', content: inner, contentType, disposition: 'attachment' }],
      })
      assert.equal(
        email.attachments.map(({ mimeType, filename }) => [mimeType, filename]),
        [['application/octet-stream', 'inner.eml']],
      )
      assert.equal(bytesOf(email.attachments[0]?.content ?? ''), inner)
    }
  })
})

scenario('The MIME message: DKIM', nothingShared, (test) => {
  test('a signed message is verified by an independent receiver', async () => {
    const { raw } = await composed({
      dkim: dkimKey,
      subject: 'Grüße 👋',
      html: `<p>مرحبا ${'x'.repeat(3000)}</p>\r\rlone\n\n\n`,
      headers: [
        { name: 'List-Unsubscribe', value: `<https://sender.example/${'u'.repeat(300)}>` },
        { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
      ],
      attachments: [
        {
          filename: 'ü.bin',
          content: Buffer.alloc(70_000, 7),
          contentType: 'x/y',
          disposition: 'attachment',
        },
      ],
    })
    assert.equal(await dkimResults(raw), ['pass'])
    const changed = Buffer.from(raw.toString('latin1').replace('One-Click', 'Two-Click'), 'latin1')
    assert.equal(await dkimResults(changed), ['fail'])
    const body = Buffer.from(raw.toString('latin1').replace('BwcHBwcH', 'BwcHBwcI'), 'latin1')
    assert.equal(await dkimResults(body), ['neutral'])
  })

  test('the signature covers both headers that unsubscribe with one click (RFC 8058, 4)', async () => {
    const url = '<https://sender.example/unsubscribe/1>'
    const { raw } = await composed({
      dkim: dkimKey,
      headers: [
        { name: 'List-Unsubscribe', value: url },
        { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
      ],
    })
    const [, names = ''] = /\bh=([^;]+);/.exec(raw.toString('latin1')) ?? []
    const covered = names.split(':').map((name) => name.trim())
    for (const name of ['list-unsubscribe', 'list-unsubscribe-post']) assert.ok(covered.includes(name), names)
    assert.equal(await dkimResults(raw), ['pass'])
    const elsewhere = raw.toString('latin1').replace(url, url.replace('/1', '/2'))
    assert.equal(await dkimResults(Buffer.from(elsewhere, 'latin1')), ['fail'])
  })

  test('a second From, above or below, breaks the signature', async () => {
    const { raw } = await composed({ dkim: dkimKey })
    const text = raw.toString('latin1')
    const other = 'From: Eve <eve@sender.example>\r\n'
    assert.equal(await dkimResults(Buffer.from(`${other}${text}`, 'latin1')), ['fail'])
    const below = text.replace('Subject: ', `${other}Subject: `)
    assert.equal(await dkimResults(Buffer.from(below, 'latin1')), ['fail'])
  })

  test('any body keeps its signature, blanks and empty lines included', async () => {
    const blanks = fc.stringMatching(/^(?:[a-z .]|\t|\n){0,300}$/)
    const property = fc.asyncProperty(blanks, blanks, line, async (html, text, name) => {
      const from = { address: 'hello@sender.example', name }
      const { raw } = await composed({ dkim: dkimKey, html, text, from, subject: name })
      assert.equal(await dkimResults(raw), ['pass'])
    })
    await fc.assert(property, { numRuns: 50 })
  })

  test('without a key the message is not signed', async () => {
    const { raw } = await composed({})
    assert.not.match(raw.toString('latin1'), /dkim-signature/i)
  })

  test('a key that cannot sign is an error, never an unsigned message', async () => {
    const elliptic = generateKeyPairSync('ed25519', {
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    for (const privateKey of ['', 'not a key', elliptic.privateKey]) {
      assert.is(
        await refusal({ dkim: { ...dkimKey, privateKey } }),
        'Error: The DKIM key of sender.example is not an RSA private key',
      )
    }
  })
})
