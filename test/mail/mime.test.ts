import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { decodeWords, type Email } from 'postal-mime'
import * as assert from 'uvu/assert'
import { nothingShared, scenario } from '../support/scenario.ts'
import { composed, line, linesOf, refusal } from './support.ts'

const headerOf = (email: Email, name: string): string | undefined => {
  const value = email.headers.find(({ key }) => key === name.toLowerCase())?.value
  return value === undefined ? undefined : decodeWords(value)
}

const unhex = (hex: string) => String.fromCharCode(Number.parseInt(hex, 16))

/** Blanks in a display name collapse; an empty one is none. */
const shownName = (name: string) => name.replace(/\s+/g, ' ').trim()

scenario('The MIME message: headers', nothingShared, (test) => {
  test('subjects and custom headers are read back as they were given, in lines that fit', async () => {
    const property = fc.asyncProperty(line, line, async (subject, value) => {
      const { raw, email } = await composed({ subject, headers: [{ name: 'X-Given', value }] })
      assert.is(email.subject ?? '', subject)
      assert.is(headerOf(email, 'X-Given') ?? '', value)
      assert.ok(linesOf(raw).every(({ length }) => length <= 998))
      assert.ok(linesOf(raw).every((text) => text === '' || text.trim() !== ''))
    })
    await fc.assert(property, { numRuns: 300 })
  })

  test('display names are read back, blanks collapsed', async () => {
    const name = line.filter((text) => text.length <= 500)
    const property = fc.asyncProperty(name, name, async (from, to) => {
      const { raw, email } = await composed({
        from: { address: 'a@sender.example', name: from },
        to: { address: 'b@receiver.example', name: to },
      })
      assert.equal(email.from, { address: 'a@sender.example', name: shownName(from) })
      assert.equal(email.to, [{ address: 'b@receiver.example', name: shownName(to) }])
      assert.ok(linesOf(raw).every(({ length }) => length <= 998))
    })
    await fc.assert(property, { numRuns: 300 })
  })

  test('each encoded word can be read alone, and is short enough', async () => {
    const property = fc.asyncProperty(line, line, async (name, subject) => {
      const { raw } = await composed({
        subject,
        from: { address: 'a@sender.example', name: name.slice(0, 500) },
      })
      const header = raw.toString('latin1').split('\r\n\r\n')[0] ?? ''
      for (const [word] of header.matchAll(/=\?UTF-8\?[BQ]\?[^?]*\?=/g)) {
        assert.ok(word.length <= 75, word)
        const [, encoding, content = ''] = /^=\?UTF-8\?(.)\?(.*)\?=$/.exec(word) ?? []
        const bytes =
          encoding === 'B'
            ? Buffer.from(content, 'base64')
            : Buffer.from(
                content.replaceAll('_', ' ').replace(/=(..)/g, (_, hex) => unhex(hex)),
                'latin1',
              )
        assert.ok(isUtf8(bytes), word)
      }
    })
    await fc.assert(property, { numRuns: 300 })
  })

  test('encoded words are cut between words, and never within what a reader sees as one character', async () => {
    for (const [name, expected] of [
      [
        'Zażółć gęślą jaźń Sp. z o.o. oddział w Łodzi',
        ['Zażółć ', 'gęślą jaźń ', 'Sp. z o.o. oddział w ', 'Łodzi'],
      ],
      ['👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦', ['👩‍👩‍👧‍👦', '👩‍👩‍👧‍👦', '👩‍👩‍👧‍👦']],
    ] as const) {
      const { raw } = await composed({ subject: name, from: { address: 'a@sender.example', name } })
      const header = raw.toString('latin1')
      const shownIn = (field: string) => {
        const value = new RegExp(`^${field}: ((?:.|\\r\\n )*)`, 'm').exec(header)?.[1] ?? ''
        return [...value.matchAll(/=\?[^ ]*\?=/g)].map(([word]) => decodeWords(word))
      }
      assert.equal(shownIn('Subject'), expected)
      assert.equal(shownIn('From'), expected)
    }
  })

  test('a display name without end is cut, in lines that fit', async () => {
    const { raw, email } = await composed({ to: { address: 'b@receiver.example', name: 'n'.repeat(3000) } })
    assert.equal(email.to, [{ address: 'b@receiver.example', name: `${'n'.repeat(499)}…` }])
    assert.ok(linesOf(raw).every(({ length }) => length <= 998))
  })

  test('an ASCII value stays as it is, also with quotation marks', async () => {
    const { raw } = await composed({
      headers: [
        { name: 'List-Id', value: '"The list" <list.sender.example>' },
        { name: 'List-Unsubscribe', value: '<https://sender.example/u/1>, <mailto:u@sender.example>' },
      ],
    })
    assert.ok(linesOf(raw).includes('List-ID: "The list" <list.sender.example>'))
    assert.ok(
      linesOf(raw).includes('List-Unsubscribe: <https://sender.example/u/1>, <mailto:u@sender.example>'),
    )
  })

  test('line breaks and control characters never start a header', async () => {
    const evil = 'x\r\nBcc: eve@evil.example\r\n\r\nbody\n\0y'
    const { email } = await composed({
      subject: evil,
      messageId: `<a@sender.example>${evil}`,
      from: { address: 'a@sender.example', name: evil },
      to: { address: 'b@receiver.example', name: evil },
      headers: [{ name: 'X-Evil', value: evil }],
      attachments: [
        {
          filename: evil,
          contentType: `text/plain${evil}`,
          contentId: evil,
          disposition: 'inline',
          content: Buffer.from('c'),
        },
      ],
    })
    assert.is(email.bcc, undefined)
    assert.equal(
      email.headers.map(({ key }) => key).filter((key) => key === 'bcc'),
      [],
    )
    assert.is(email.subject, 'x Bcc: eve@evil.example body y')
    assert.is(headerOf(email, 'X-Evil'), 'x Bcc: eve@evil.example body y')
    assert.is(email.html?.trim(), '<p>Hello Ann</p>')
    assert.is(email.attachments.length, 1)
  })

  test('a header that gives orders to servers on the way is left out', async () => {
    const headers = [
      { name: 'X-Mailgun-Tag', value: 'old' },
      { name: 'X-Kept', value: 'kept' },
    ]
    const { email } = await composed({ headers })
    assert.equal([headerOf(email, 'X-Mailgun-Tag'), headerOf(email, 'X-Kept')], [undefined, 'kept'])
  })

  test('a header that would replace the envelope is refused, and so is what is no header name', async () => {
    for (const name of [
      'Bcc',
      'bcc',
      'CC',
      'To',
      'Content-Type',
      'Received',
      'DKIM-Signature',
      'Message-Id',
    ]) {
      assert.is(
        await refusal({ headers: [{ name, value: 'x@y.example' }] }),
        `UnsendableMail: The header ${name} cannot be set`,
      )
    }
    for (const name of ['', 'X Y', 'X:', 'X\r\nBcc: a', 'Ü']) {
      assert.match(await refusal({ headers: [{ name, value: 'x' }] }), 'is not a header name')
    }
  })

  test('an address that could break out of its header is refused', async () => {
    for (const address of ['a@b\r\nBcc: c@d', 'a@b> <c@d', 'nobody', 'a@', '@b', 'a b@c\n']) {
      assert.match(await refusal({ to: { address } }), 'is not an email address')
      assert.match(await refusal({ from: { address } }), 'is not an email address')
      assert.match(await refusal({ replyTo: address }), 'is not an email address')
    }
  })

  test('an address with a comma is one address', async () => {
    const { email } = await composed({ to: { address: 'a,b@receiver.example' } })
    assert.equal(email.to, [{ address: '"a,b"@receiver.example', name: '' }])
  })

  test('international domains are written as ASCII, and in Reply-To names and addresses are told apart', async () => {
    const { email } = await composed({
      from: { address: 'a@bücher.example', name: 'Bücher' },
      headers: [{ name: 'Reply-To', value: 'Jürgen <j@bücher.example>' }],
    })
    assert.equal(email.from, { address: 'a@xn--bcher-kva.example', name: 'Bücher' })
    assert.equal(email.replyTo, [{ address: 'j@xn--bcher-kva.example', name: 'Jürgen' }])
  })

  test('Message-ID and Date are those that were given, and nothing tells what wrote the message', async () => {
    const { email } = await composed({ replyTo: 'support@sender.example' })
    assert.is(email.messageId, '<01890000-0000-7000-8000-000000000001@sender.example>')
    assert.is(email.date, '2026-03-04T05:06:07.000Z')
    assert.equal(email.replyTo, [{ address: 'support@sender.example', name: '' }])
    assert.equal(email.headers.map(({ key }) => key).sort(), [
      'content-type',
      'date',
      'from',
      'message-id',
      'mime-version',
      'reply-to',
      'subject',
      'to',
    ])
  })
})
