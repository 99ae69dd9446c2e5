import { randomBytes } from 'node:crypto'
import { dkimVerify } from 'mailauth'
import PostalMime, { decodeWords, type Email } from 'postal-mime'
import * as assert from 'uvu/assert'
import { forceVerified } from '../../src/features/domains/domains.ts'
import { emailRow, type SendingService, startSending } from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { type Body, until } from '../support/service.ts'

const DOMAIN = 'mail.sender.example'

const PDF = randomBytes(70_000)
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const HTML = '<h1>Grüße, 李雷 👋</h1><p>Preis: 5&nbsp;€ <img src="cid:logo@mail" alt=""></p>'

const MESSAGE = {
  to: [{ name: '李雷', email: 'Li.Lei@Receiver.example' }, 'ada@receiver.example'],
  from: { name: 'Zoë "Z" Müller, Berlin 🚀', email: `hallo@${DOMAIN}` },
  subject: 'Willkommen 🎉 — schön, dass du da bist! ขอบคุณ',
  body: HTML,
  reply: 'antwort@sender.example',
  headers: { 'X-Campaign': 'frühling 2026', 'X-Order': '12345' },
  attachments: [
    { filename: 'Rechnung März 📄.pdf', content: PDF.toString('base64'), contentType: 'application/pdf' },
    {
      filename: 'logo.gif',
      content: PIXEL.toString('base64'),
      contentType: 'image/gif',
      contentId: 'logo@mail',
      disposition: 'inline',
    },
  ],
}

/** Adds the domain as its owner would, and lets the operator vouch for it. Returns its DNS records. */
async function addDomain({ as, project, ctx }: SendingService): Promise<Body[]> {
  const added = await as(project).post('/domains', { domain: DOMAIN })
  assert.is(added.status, 201, added.text)
  assert.is(added.body.verified, false, 'a real provider needs real records')
  await forceVerified(ctx(project.id), DOMAIN)
  const listed = await as(project).get(`/domains/project/${project.id}`)
  return listed.body.find(({ domain }: Body) => domain === DOMAIN).records
}

function assertMessage(email: Email, to: { name: string; address: string }): void {
  assert.equal(email.from, { name: MESSAGE.from.name, address: MESSAGE.from.email })
  assert.equal(email.to, [to])
  assert.is(email.cc, undefined)
  assert.is(email.subject, MESSAGE.subject)
  assert.is(email.replyTo?.[0]?.address, MESSAGE.reply)
  assert.is(email.html?.trimEnd(), HTML)
  assert.match(email.text ?? '', 'Grüße, 李雷 👋')
  for (const [name, value] of Object.entries(MESSAGE.headers)) {
    const header = email.headers.find(({ key }) => key === name.toLowerCase())
    assert.is(header && decodeWords(header.value), value, name)
  }
}

function assertFiles({ attachments }: Email): void {
  const described = attachments.map(({ filename, mimeType, disposition, contentId }) => ({
    filename,
    mimeType,
    disposition,
    contentId,
  }))
  assert.equal(
    described.toSorted((a, b) => a.mimeType.localeCompare(b.mimeType)),
    [
      {
        filename: 'Rechnung März 📄.pdf',
        mimeType: 'application/pdf',
        disposition: 'attachment',
        contentId: undefined,
      },
      { filename: 'logo.gif', mimeType: 'image/gif', disposition: 'inline', contentId: '<logo@mail>' },
    ],
  )
  for (const { mimeType, content } of attachments) {
    assert.ok(content instanceof ArrayBuffer)
    assert.ok(Buffer.from(content).equals(mimeType === 'image/gif' ? PIXEL : PDF), mimeType)
  }
}

/** Checks the signature as a receiver does, who finds in DNS what the service told the owner to publish. */
async function assertSigned(raw: Buffer, records: Body[]): Promise<void> {
  const resolver = async (name: string, type: string): Promise<string[][]> => {
    const found = records.filter((record) => record.type === type && record.name === name)
    if (found.length === 0) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    return found.map(({ value }) => [value])
  }
  const { results } = await dkimVerify(raw, { resolver })
  assert.equal(
    results.map(({ status, signingDomain }) => [status.result, signingDomain]),
    [['pass', DOMAIN]],
  )
  const changed = Buffer.from(raw.toString('latin1').replace(/^subject:.*$/im, 'Subject: Other'), 'latin1')
  const forged = await dkimVerify(changed, { resolver })
  assert.is.not(forged.results[0]?.status.result, 'pass')
}

scenario('Delivery end to end', startSending, (test) => {
  test('what was sent over HTTP is what arrives, signed for the domain', async (context) => {
    const { as, project, sink } = context
    const records = await addDomain(context)
    const answer = await as(project).post('/v1/send', MESSAGE)
    assert.is(answer.status, 200, answer.text)
    await until('both messages', () => sink.arrivals.length === 2)
    const people = [
      { name: '李雷', address: 'li.lei@receiver.example' },
      { name: '', address: 'ada@receiver.example' },
    ]
    for (const [index, person] of people.entries()) {
      const arrival = sink.arrivals.find(({ to }) => to === person.address)
      assert.ok(arrival, person.address)
      const email = await PostalMime.parse(arrival.raw)
      assertMessage(email, person)
      assertFiles(email)
      await assertSigned(arrival.raw, records)
      const row = await emailRow(context, answer.body.data.emails[index].email)
      assert.is(email.messageId, row.message_id)
    }
  })
})
