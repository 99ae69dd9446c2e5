import { type Report, type ReportKind, reportOf } from './report.rules.ts'

/** A part of a multipart/report (RFC 6522): its media type in lower case, and its content. */
export type ReportPart = { contentType: string; text: string }

/** More receivers than a message of this service has. */
const MAX_GROUPS = 20
const MAX_FIELDS = 200

type Fields = Map<string, string>

/** Fields in the form of a header (RFC 5322, 2.2), by their names in lower case; the first one of a name counts. */
function fieldsOf(text: string): Fields {
  const lines = text.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/, MAX_FIELDS)
  const fields: Fields = new Map()
  for (const line of lines) {
    const [, name, value] = /^([\x21-\x39\x3b-\x7e]{1,76}):[ \t]*(.*)$/.exec(line) ?? []
    const key = name?.toLowerCase()
    if (key !== undefined && value !== undefined && !fields.has(key)) fields.set(key, value.trim())
  }
  return fields
}

/** The part after the type in fields such as "rfc822; ada@example.com". */
const untyped = (value: string | undefined): string | undefined => value?.replace(/^[^;]*;\s*/, '')

/**
 * What a report that came as mail says of a message of this service: one about its delivery (RFC 3464), or a complaint (RFC 5965).
 * `recipient` is the address that the report came to, which may name the message.
 */
export function reportsInMail(parts: ReportPart[], recipient: string, now: Date): Report[] {
  const contentOf = (pattern: RegExp) => parts.find(({ contentType }) => pattern.test(contentType))?.text
  const original = contentOf(/^(?:message\/rfc822|text\/rfc822-headers|message\/global(?:-headers)?)$/)
  const common = {
    messageId:
      original === undefined
        ? undefined
        : fieldsOf(original.split(/\r?\n\r?\n/, 1)[0] ?? '').get('message-id'),
    emailId: idInAddress(recipient),
    sender: recipient,
  }
  const delivery = contentOf(/^message\/(?:global-)?delivery-status$/)
  const feedback = contentOf(/^message\/feedback-report$/)
  const happenings =
    delivery !== undefined ? deliveriesIn(delivery) : feedback !== undefined ? complaintsIn(feedback) : []
  return happenings
    .map(({ kind, recipient, reason }) => reportOf(kind, now, { ...common, recipient, reason }))
    .filter(({ emailId }) => emailId !== null)
}

/** A return path that is made for one message (VERP), such as bounce+<id>@example.com. */
function idInAddress(address: string): string | undefined {
  const [, id] = /[+=-]([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})@/i.exec(address) ?? []
  return id
}

type Happening = { kind: ReportKind; recipient?: string | undefined; reason?: string | undefined }

/** The first group of fields is about the message, each of the others about a receiver. */
function deliveriesIn(text: string): Happening[] {
  const groups = text.split(/\r?\n[ \t]*\r?\n/, MAX_GROUPS).map(fieldsOf)
  return groups.flatMap((fields) => {
    const kind = kindOf(fields.get('action')?.toLowerCase(), fields.get('status') ?? '')
    if (kind === null) return []
    const recipient = untyped(fields.get('original-recipient') ?? fields.get('final-recipient'))
    return [{ kind, recipient, reason: untyped(fields.get('diagnostic-code')) ?? fields.get('status') }]
  })
}

/** Status codes as RFC 3463 has them: 5.2.2 is a full mailbox, which may have room again. */
function kindOf(action: string | undefined, status: string): ReportKind | null {
  if (action === 'delivered') return 'DELIVERED'
  if (action !== 'failed') return null
  return status.startsWith('4') || status.startsWith('5.2.2') ? 'SOFT_BOUNCED' : 'BOUNCED'
}

/** Types that say that a reader does not want the mail; others are about forged mail, or take a complaint back. */
const COMPLAINTS = new Set(['abuse', 'fraud', 'virus', 'other', 'opt-out', 'opt-out-list'])

function complaintsIn(text: string): Happening[] {
  const fields = fieldsOf(text)
  const type = fields.get('feedback-type')?.toLowerCase() ?? ''
  if (!COMPLAINTS.has(type)) return []
  return [{ kind: 'COMPLAINED', recipient: fields.get('original-rcpt-to'), reason: type }]
}
