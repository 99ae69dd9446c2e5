type Given = { headers: { name: string; value: string }[]; contentType: string; messageId: string | null }

/** Message-IDs of Mailwright itself, here or elsewhere: UUIDs of version 7. */
const OWN_ID = /^<[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}@/

/**
 * Whether no person wrote the message, so that answering it could go on for ever: an automatic reply (RFC 3834, 5), a report
 * (RFC 6522), a message that nobody can answer (the null sender), one that itself asks for no answers, or one of the service.
 */
export function isAutomatic({ headers, contentType, messageId }: Given, sender: string): boolean {
  if (sender === '' || contentType === 'multipart/report' || OWN_ID.test(messageId ?? '')) return true
  const has = (name: string, value: RegExp) =>
    headers.some((header) => header.name.toLowerCase() === name && value.test(header.value.trim()))
  return (
    has('auto-submitted', /^(?!no(?:$|[\s;]))/i) ||
    has('precedence', /^(?:bulk|junk|auto_reply)$/i) ||
    has('x-autoreply', /./) ||
    has('x-autorespond', /./)
  )
}
