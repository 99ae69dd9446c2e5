import type { Config } from '../../config.ts'
import { ID_BYTES, idBytes, idText } from '../../lib/ids.ts'
import { isSigned, sign } from '../../lib/secrets.ts'

/** The contact that a link acts for, and the mail that it was in. */
export type LinkOwner = { projectId: string; contactId: string; emailId: string }

export type SubscriptionLinks = { unsubscribeUrl: string; subscribeUrl: string; manageUrl: string }

/** The parts of a link. They prove nothing before `isLinkOf` has checked the signature. */
export type Link = LinkOwner & { ids: Buffer; signature: Buffer }

const SIGNATURE_BYTES = 16

/** Returns the signed bytes: the ids have a fixed length, so no other ids and address give the same ones. */
const signedBytes = (ids: Buffer, address: string) => Buffer.concat([ids, Buffer.from(address)])

/**
 * Creates links that need no sign-in: the token names contact and mail, and nobody else can sign it. Links belong to
 * the address `email`: when the contact gets another one, links sent to the old one stop working.
 */
export function subscriptionLinks(config: Config, owner: LinkOwner & { email: string }): SubscriptionLinks {
  const ids = Buffer.concat([idBytes(owner.projectId), idBytes(owner.contactId), idBytes(owner.emailId)])
  const signature = sign(config.linkKeys.subscriptions[0], signedBytes(ids, owner.email), SIGNATURE_BYTES)
  const token = Buffer.concat([ids, signature]).toString('base64url')
  return {
    unsubscribeUrl: `${config.apiUrl}/unsubscribe/${token}`,
    subscribeUrl: `${config.apiUrl}/subscribe/${token}`,
    manageUrl: `${config.apiUrl}/manage/${token}`,
  }
}

/** Returns null when the token cannot belong to a link. */
export function readLink(token: string): Link | null {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== 3 * ID_BYTES + SIGNATURE_BYTES) return null
  // Decoding is lenient: it skips what is not base64url, and the last character has bits to spare.
  if (bytes.toString('base64url') !== token) return null
  const ids = bytes.subarray(0, 3 * ID_BYTES)
  return {
    projectId: idText(ids.subarray(0, ID_BYTES)),
    contactId: idText(ids.subarray(ID_BYTES, 2 * ID_BYTES)),
    emailId: idText(ids.subarray(2 * ID_BYTES)),
    ids,
    signature: bytes.subarray(3 * ID_BYTES),
  }
}

/**
 * Returns whether this service signed the link for a contact with this address. `sentTo` is the receiver of the mail
 * with the link: links that are signed without an address belong to that one.
 */
export function isLinkOf(
  config: Config,
  { ids, signature }: Link,
  { email, sentTo }: { email: string; sentTo: string | null },
): boolean {
  const keys = config.linkKeys.subscriptions
  if (isSigned(keys, signedBytes(ids, email), signature)) return true
  return sentTo === email && isSigned(keys, ids, signature)
}
