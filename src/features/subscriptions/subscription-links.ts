import type { Config } from '../../config.ts'
import { ID_BYTES, idBytes, idText } from '../../lib/ids.ts'
import { isSigned, sign } from '../../lib/secrets.ts'

/** Whom a link in a mail speaks for, and which mail it was in. */
export type LinkOwner = { projectId: string; contactId: string; emailId: string }

export type SubscriptionLinks = { unsubscribeUrl: string; subscribeUrl: string; manageUrl: string }

/** What stands in a link. It is worth nothing before `isLinkOf` has told whose it is. */
export type Link = LinkOwner & { ids: Buffer; signature: Buffer }

const SIGNATURE_BYTES = 16

/** What is signed: the ids have a fixed length, so nothing else gives the same bytes. */
const signedBytes = (ids: Buffer, address: string) => Buffer.concat([ids, Buffer.from(address)])

/**
 * Links that need no sign-in: the token names contact and mail and cannot be made by anyone else. They are those of the
 * address `email`: when the contact gets another one, who has the old one has no say any more.
 */
export function subscriptionLinks(config: Config, owner: LinkOwner & { email: string }): SubscriptionLinks {
  const ids = Buffer.concat([idBytes(owner.projectId), idBytes(owner.contactId), idBytes(owner.emailId)])
  const signature = sign(config.linkKeys.subscriptions, signedBytes(ids, owner.email), SIGNATURE_BYTES)
  const token = Buffer.concat([ids, signature]).toString('base64url')
  return {
    unsubscribeUrl: `${config.apiUrl}/unsubscribe/${token}`,
    subscribeUrl: `${config.apiUrl}/subscribe/${token}`,
    manageUrl: `${config.apiUrl}/manage/${token}`,
  }
}

/** Null when the token cannot be of a link. */
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
 * Whether the link was made here for a contact with this address. `sentTo` is where the mail with the link went: links
 * that are signed without an address are those of that one.
 */
export function isLinkOf(
  config: Config,
  { ids, signature }: Link,
  { email, sentTo }: { email: string; sentTo: string | null },
): boolean {
  const key = config.linkKeys.subscriptions
  if (isSigned(key, signedBytes(ids, email), signature)) return true
  return sentTo === email && isSigned(key, ids, signature)
}
