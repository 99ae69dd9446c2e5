import { createHmac, randomBytes } from 'node:crypto'

/** The length that Standard Webhooks recommends: 24 to 64 bytes. */
const SECRET_BYTES = 32
const PREFIX = 'whsec_'

/** A secret as receivers are given it: "whsec_" and base64. */
export const newSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64')

type Signed = { id: string; sentAt: Date; body: string }

/**
 * The headers of a signed call (Standard Webhooks 1.0): its id, which stays the same when it is repeated, the time in
 * seconds, and a signature for each secret, of which the receiver has to know one.
 */
export function signedHeaders(
  { id, sentAt, body }: Signed,
  secrets: readonly string[],
): Record<string, string> {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}
