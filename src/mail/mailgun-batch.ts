import type { MailgunMessageData } from 'mailgun.js/definitions'
import { oneLine } from './header-text.ts'
import type { OutgoingMail, Together } from './mailer.ts'
import { asciiAddress, customHeaders, lineFeeds } from './mime.ts'

/**
 * What Mailgun documents of sending to many recipients with variables of their own
 * (documentation.mailgun.com, User Manual, Batch Sending and Template Variables).
 */
export const TOGETHER: Together = {
  most: 1_000,
  // Variables of addresses with other characters, such as a plus sign, were reported not to be found
  // (github.com/mailgun/mailgun.js/issues/413).
  addresses: /^[\w.-]+@[^@]+$/,
  words: /%recipient|recipient\.\w{1,12}%|%(?:mailing_list_|tag_)?unsubscribe/,
  reach: 32,
}

/** A message of Mailgun has 25 MB at most; it does not say whether the variables of the recipients count. */
const MOST_BYTES = 20 * 1024 * 1024

/**
 * One call for messages with the same sender, headers and common parts: what is a recipient's own stands in variables.
 * Null when they do not fit into one. Throws UnsendableMail when one of them cannot be sent.
 */
export function batchOf(mails: OutgoingMail[]): MailgunMessageData | null {
  const [first] = mails
  if (!first?.parts) return null
  const { from, replyTo, parts } = first
  const names = customHeaders(first).map(({ name }) => name)
  const variables = new Map(mails.map((mail) => [asciiAddress(mail.to.address), variablesOf(mail, names)]))
  // The variables are found by the address.
  if (variables.size < mails.length) return null
  const call = {
    from: from.name ? `${quoted(from.name)} <${asciiAddress(from.address)}>` : asciiAddress(from.address),
    to: [...variables.keys()].join(','),
    subject: place('subject'),
    html: lineFeeds(parts.html.filledWith((index) => place(`b${index}`))),
    text: lineFeeds(parts.text.filledWith((index) => place(`t${index}`))),
    // Notifications name the message by both.
    'h:Message-Id': `<${place('message_id')}>`,
    'v:email_id': place('email_id'),
    ...(replyTo !== undefined && { 'h:Reply-To': asciiAddress(replyTo) }),
    ...Object.fromEntries(names.map((name, index) => [`h:${name}`, place(`h${index}`)])),
    'recipient-variables': JSON.stringify(Object.fromEntries(variables)),
  }
  const bytes = Object.values(call).reduce((sum, value) => sum + Buffer.byteLength(value), 0)
  return bytes > MOST_BYTES ? null : call
}

/** As RFC 5322, 3.2.4 has it; Mailgun encodes other characters than ASCII. */
const quoted = (name: string): string => `"${oneLine(name).replace(/["\\]/g, '\\$&')}"`

const place = (name: string): string => `%recipient.${name}%`

/** `names` are those of its headers. */
function variablesOf(mail: OutgoingMail, names: string[]): Record<string, string> {
  const header = new Map(mail.headers.map(({ name, value }) => [name, oneLine(value)]))
  const numbered = (letter: string, values: readonly string[]) =>
    values.map((value, index) => [`${letter}${index}`, value] as const)
  return Object.fromEntries([
    ['email_id', mail.emailId],
    ['message_id', mail.messageId.replace(/^<|>$/g, '')],
    ['subject', oneLine(mail.subject)],
    ...numbered(
      'h',
      names.map((name) => header.get(name) ?? ''),
    ),
    ...numbered('b', mail.parts?.html.values.map(lineEnds) ?? []),
    ...numbered('t', mail.parts?.text.values.map(lineEnds) ?? []),
  ])
}

/** In a form, and in a message, a line ends like this. */
const lineEnds = (text: string): string => lineFeeds(text).replaceAll('\n', '\r\n')
