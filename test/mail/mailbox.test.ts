import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import PostalMime from 'postal-mime'
import { v7 } from 'uuid'
import * as assert from 'uvu/assert'
import { createMailboxMailer } from '../../src/mail/mailbox.ts'
import { scenario } from '../support/scenario.ts'
import { dkimKey, dkimResults, mailWith } from './support.ts'

async function startFolder() {
  const root = await mkdtemp(join(tmpdir(), 'mailbox-'))
  let count = 0
  return {
    /** A directory that does not exist yet. */
    directory: () => {
      count += 1
      return join(root, 'data', `mailbox-${count}`)
    },
    root,
    stop: () => rm(root, { recursive: true }),
  }
}

const now = () => new Date('2026-03-04T05:06:07Z')

scenario('The mailbox', startFolder, (test) => {
  test('lists messages up to 16 MB together, or one', async ({ directory }) => {
    const mailbox = createMailboxMailer({ directory: directory(), now })
    const send = async (size: number) => {
      const emailId = v7()
      await mailbox.send(mailWith({ emailId, html: 'x'.repeat(size), text: 'x' }))
      return emailId
    }
    const ids = [await send(6_000_000), await send(6_000_000), await send(6_000_000)]
    const listed = async () => (await mailbox.list({ limit: 10 })).map(({ id }) => id)
    assert.equal(await listed(), [ids[2], ids[1]])
    const large = await send(20_000_000)
    const lists = await Promise.all([listed(), listed(), listed()])
    assert.equal(lists, [[large], [large], [large]])
  })

  test('shows a message as it was sent, and the bytes that would have gone out', async ({ directory }) => {
    const mailbox = createMailboxMailer({ directory: directory(), now })
    const emailId = v7()
    const mail = mailWith({
      emailId,
      replyTo: 'support@sender.example',
      subject: 'Grüße 👋',
      html: '<p>See <a href="https://sender.example">this</a></p>',
      headers: [
        { name: 'X-One', value: 'ü' },
        { name: 'X-Two', value: 'a' },
        { name: 'X-Two', value: 'b' },
      ],
      attachments: [
        {
          filename: 'a.pdf',
          content: Buffer.from('%PDF'),
          contentType: 'application/pdf',
          disposition: 'attachment',
        },
        {
          filename: 'l.png',
          content: Buffer.from('png'),
          contentType: 'image/png',
          disposition: 'inline',
          contentId: 'l',
        },
      ],
      dkim: dkimKey,
    })
    assert.equal(await mailbox.send(mail), { kind: 'sent', providerMessageId: null })
    assert.equal(await mailbox.list({ limit: 10 }), [
      {
        id: emailId,
        from: 'Sender <hello@sender.example>',
        to: 'Ann <ann@receiver.example>',
        subject: 'Grüße 👋',
        html: mail.html,
        text: mail.text,
        headers: {
          'Message-ID': mail.messageId,
          Date: 'Wed, 04 Mar 2026 05:06:07 GMT',
          From: 'Sender <hello@sender.example>',
          To: 'Ann <ann@receiver.example>',
          Subject: 'Grüße 👋',
          'Reply-To': 'support@sender.example',
          'X-One': 'ü',
          'X-Two': 'a, b',
        },
        attachments: [
          { filename: 'a.pdf', contentType: 'application/pdf', size: 4 },
          { filename: 'l.png', contentType: 'image/png', size: 3, contentId: 'l' },
        ],
        receivedAt: '2026-03-04T05:06:07.000Z',
      },
    ])
    const raw = await mailbox.raw(emailId)
    assert.ok(raw)
    assert.is((await PostalMime.parse(raw)).subject, 'Grüße 👋')
    assert.equal(await dkimResults(raw), ['pass'])
  })

  test('lists newest first, up to the limit, and by recipient without regard to case', async ({
    directory,
  }) => {
    const mailbox = createMailboxMailer({ directory: directory() })
    const ids = Array.from({ length: 6 }, () => v7())
    await Promise.all(
      ids.map((emailId, index) =>
        mailbox.send(
          mailWith({ emailId, to: { address: index % 2 ? 'Odd@x.example' : 'even@x.example', name: 'N' } }),
        ),
      ),
    )
    const idsOf = async (filter: { to?: string; limit: number }) =>
      (await mailbox.list(filter)).map(({ id }) => id)
    assert.equal(await idsOf({ limit: 100 }), ids.toReversed())
    assert.equal(await idsOf({ limit: 2 }), [ids[5], ids[4]])
    assert.equal(await idsOf({ to: 'odd@X.example', limit: 2 }), [ids[5], ids[3]])
    assert.equal(await idsOf({ to: 'nobody@x.example', limit: 2 }), [])
    assert.equal(await idsOf({ limit: 0 }), [])
  })

  test('a repeat takes the place of the first', async ({ directory }) => {
    const mailbox = createMailboxMailer({ directory: directory() })
    const emailId = v7()
    await mailbox.send(mailWith({ emailId, subject: 'first' }))
    await Promise.all([
      mailbox.send(mailWith({ emailId, subject: 'again' })),
      mailbox.send(mailWith({ emailId, subject: 'again' })),
    ])
    const messages = await mailbox.list({ limit: 10 })
    assert.equal(
      messages.map(({ subject }) => subject),
      ['again'],
    )
  })

  test('another process sees what was written, and nothing unfinished', async ({ directory }) => {
    const place = directory()
    await createMailboxMailer({ directory: place }).send(mailWith({ emailId: v7() }))
    assert.is((await createMailboxMailer({ directory: place }).list({ limit: 10 })).length, 1)
    assert.equal((await readdir(place)).map((name) => name.replace(/.*\./, '')).sort(), ['eml', 'json'])
  })

  test('lets nobody else on the machine read mail', async ({ directory }) => {
    const place = directory()
    await createMailboxMailer({ directory: place }).send(mailWith({ emailId: v7() }))
    const modeOf = async (file: string) => (await stat(file)).mode & 0o777
    assert.is(await modeOf(place), 0o700)
    for (const name of await readdir(place)) assert.is(await modeOf(join(place, name)), 0o600)
  })

  test('keeps the newest messages only', async ({ directory }) => {
    const place = directory()
    const mailbox = createMailboxMailer({ directory: place, keep: 3 })
    const ids = Array.from({ length: 8 }, () => v7())
    for (const emailId of ids) await mailbox.send(mailWith({ emailId }))
    assert.equal(
      (await mailbox.list({ limit: 100 })).map(({ id }) => id),
      ids.slice(5).toReversed(),
    )
    assert.is((await readdir(place)).length, 6)
    assert.is(await mailbox.raw(ids[0] ?? ''), null)
  })

  test('a file of another version is passed over', async ({ directory }) => {
    const place = directory()
    const mailbox = createMailboxMailer({ directory: place })
    await mailbox.send(mailWith({ emailId: v7() }))
    await writeFile(join(place, `${v7()}.0000000000000000.json`), '{"version":0}')
    assert.is((await mailbox.list({ limit: 10 })).length, 1)
  })

  test('what a crash left behind is removed once it is old', async ({ directory }) => {
    const place = directory()
    const mailbox = createMailboxMailer({ directory: place, keep: 3 })
    await mailbox.send(mailWith({ emailId: v7() }))
    const hoursAgo = new Date(Date.now() - 7_200_000)
    await writeFile(join(place, '.old.tmp'), 'half')
    await utimes(join(place, '.old.tmp'), hoursAgo, hoursAgo)
    await writeFile(join(place, '.new.tmp'), 'half')
    await mailbox.send(mailWith({ emailId: v7() }))
    const names = await readdir(place)
    assert.not.ok(names.includes('.old.tmp'))
    assert.ok(names.includes('.new.tmp'))
  })

  test('no id leads out of the directory', async ({ directory, root }) => {
    const place = directory()
    const mailbox = createMailboxMailer({ directory: place })
    await mailbox.send(mailWith({ emailId: v7() }))
    await writeFile(join(root, 'secret.eml'), 'secret')
    for (const id of ['../../secret', '..%2f..%2fsecret', join(root, 'secret'), '', '.', 'a/b', 'a\0b']) {
      assert.is(await mailbox.raw(id), null)
      assert.is((await mailbox.send(mailWith({ emailId: id }))).kind, 'permanent')
    }
    assert.is(await mailbox.raw(v7()), null)
  })

  test('is empty before the first message', async ({ directory }) => {
    const mailbox = createMailboxMailer({ directory: directory() })
    assert.equal(await mailbox.list({ limit: 10 }), [])
    assert.is(await mailbox.raw(v7()), null)
  })

  test('a directory that cannot be written is a temporary failure', async ({ root }) => {
    const file = join(root, 'a-file')
    await writeFile(file, 'x')
    const mailbox = createMailboxMailer({ directory: join(file, 'mailbox') })
    const result = await mailbox.send(mailWith({ emailId: v7() }))
    assert.is(result.kind, 'temporary')
    assert.match(result.kind === 'temporary' ? result.reason : '', /^Mailbox: ENOTDIR/)
  })

  test('a message that cannot be composed is a permanent failure and leaves nothing', async ({
    directory,
  }) => {
    const mailbox = createMailboxMailer({ directory: directory() })
    const result = await mailbox.send(mailWith({ headers: [{ name: 'Bcc', value: 'x@y.example' }] }))
    assert.equal(result, { kind: 'permanent', reason: 'The header Bcc cannot be set' })
    assert.equal(await mailbox.list({ limit: 10 }), [])
  })

  test('takes no more once it is closed', async ({ directory }) => {
    const mailbox = createMailboxMailer({ directory: directory() })
    const underWay = mailbox.send(mailWith({ emailId: v7() }))
    await mailbox.close()
    assert.is((await mailbox.list({ limit: 10 })).length, 1)
    assert.is((await underWay).kind, 'sent')
    assert.is((await mailbox.send(mailWith({ emailId: v7() }))).kind, 'temporary')
  })
})
