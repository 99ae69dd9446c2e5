import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { dkimVerify } from 'mailauth'
import PostalMime from 'postal-mime'
import type { DkimKey, OutgoingMail } from '../../src/mail/mailer.ts'
import { composeMessage, SigningKeys } from '../../src/mail/mime.ts'

/** A plain message; what a test is about is given. */
export function mailWith(fields: Partial<OutgoingMail> = {}): OutgoingMail {
  return {
    emailId: '01890000-0000-7000-8000-000000000001',
    projectId: 'project',
    messageId: '<01890000-0000-7000-8000-000000000001@sender.example>',
    date: new Date('2026-03-04T05:06:07Z'),
    from: { address: 'hello@sender.example', name: 'Sender' },
    to: { address: 'ann@receiver.example', name: 'Ann' },
    subject: 'Hello',
    html: '<p>Hello Ann</p>',
    text: 'Hello Ann',
    headers: [],
    attachments: [],
    ...fields,
  }
}

const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})

export const dkimKey: DkimKey = { domain: 'sender.example', selector: 'key1', privateKey }

/** What a receiver that finds our public key in DNS says about each signature. */
export async function dkimResults(raw: Buffer): Promise<string[]> {
  const record = `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`
  const { results } = await dkimVerify(raw, {
    resolver: async (name) => (name === 'key1._domainkey.sender.example' ? [[record]] : []),
  })
  return results.map(({ status }) => status.result)
}

/** Gives a server to a test and stops it, also when the test fails: one that runs on would keep the run alive. */
export async function during<S extends { stop(): Promise<void> }, T>(
  server: S,
  use: (server: S) => Promise<T>,
): Promise<T> {
  try {
    return await use(server)
  } finally {
    await server.stop()
  }
}

/** Lines of a message, without their ends. */
export function linesOf(raw: Buffer): string[] {
  return raw.toString('latin1').split('\r\n')
}

/** Any text of one line, and more of what mail programs stumble over than chance would find. */
export const line = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 400 }),
  fc.string({ unit: 'grapheme-ascii', maxLength: 990 }),
  fc.constantFrom(
    'مرحبا بالعالم',
    'שלום, עולם',
    '👩‍👩‍👧‍👦 family 🏳️‍🌈',
    '"quoted" \\ back\\slash',
    'Doe, Jane; (Sales) <x@y.example>',
    '  blanks around  ',
    'two  blanks',
    `a${' '.repeat(200)}x`,
    'w'.repeat(490),
    'w'.repeat(998),
    'ü'.repeat(490),
    '漢字'.repeat(240),
    'word '.repeat(98),
    '=?utf-8?Q?looks_encoded?=',
    '=?not encoded',
    ':',
    'tab\tinside',
    '',
  ),
)

/** The message made from these fields, and what an independent parser reads in it. */
export async function composed(fields: Partial<OutgoingMail>) {
  const { raw } = await composeMessage(mailWith(fields), new SigningKeys())
  return { raw, email: await PostalMime.parse(raw) }
}

/** The error that composing ends with. */
export async function refusal(fields: Partial<OutgoingMail>): Promise<string> {
  try {
    await composeMessage(mailWith(fields), new SigningKeys())
    return 'composed'
  } catch (error) {
    return String(error)
  }
}
