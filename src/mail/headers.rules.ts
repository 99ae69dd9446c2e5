/** Field names as RFC 5322, 3.6.8 has them: printable ASCII without the colon. Longer ones cannot be folded. */
const FIELD_NAME = /^[\x21-\x39\x3b-\x7e]{1,76}$/

/** Headers that say who sent the message and which way it took: the reader must be able to trust them. */
const OWN_FIELDS =
  /^(?:bcc|cc|from|to|sender|subject|date|message-id|mime-version|content-.*|resent-.*|received|received-spf|return-path|delivered-to|apparently-to|envelope-to|x-envelope-.*|dkim-signature|domainkey-signature|authentication-results|arc-.*)$/i

/**
 * Orders that servers on the way obey, and take out: further recipients, a template, another account or address of the
 * sender, no signature, no encryption (RFC 8689). By whose they are: SendGrid, Mailgun, Amazon SES, Postmark, Mandrill,
 * SparkPost, Mailjet, Brevo, Resend, MailerSend, SMTP2GO, Elastic Email, Mailtrap, Postal, PowerMTA, Netcore, Exchange.
 */
const ORDERS =
  /^(?:x-smtpapi|x-sg-.*|x-mailgun-.*|x-ses-.*|x-pm-.*|x-mc-.*|x-msys-.*|x-mj-.*|x-mailjet-.*|x-mailin-.*|x-sib-.*|sender\.ip|resend-.*|x-resend-.*|x-mailersend-.*|.*smtp2go.*|x-elasticemail.*|x-mt-.*|x-postal-.*|x-virtual-?mta|x-job|x-envid|x-dkim-.*|x-apiheader|x-ms-exchange-.*|tls-required)$/i

const MESSAGE_ID_LISTS = /^(?:in-reply-to|references)$/i

export function isHeaderName(name: string): boolean {
  return FIELD_NAME.test(name)
}

/** True for a custom header that would say whose the message is. */
export const isOwnHeader = (name: string): boolean => OWN_FIELDS.test(name)

/** True for a custom header that would give orders to the servers on its way. */
export const isOrder = (name: string): boolean => ORDERS.test(name)

/** True for a custom header that no request may have. */
export const isReservedHeader = (name: string): boolean => isOwnHeader(name) || isOrder(name)

/** RFC 5322, 3.6.4, has ASCII only in these, and RFC 2047 no encoded words: other characters would arrive broken. */
export function isUnreadableValue(name: string, value: string): boolean {
  return MESSAGE_ID_LISTS.test(name) && /[^\x20-\x7e\t]/.test(value)
}
