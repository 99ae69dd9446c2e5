import type { Config } from '../../config.ts'
import { deriveKey, isSigned, sign } from '../../lib/secrets.ts'

/** Whom a link in a mail speaks for, and which mail it was in. */
export type LinkOwner = { projectId: string; contactId: string; emailId: string }

export type SubscriptionLinks = { unsubscribeUrl: string; subscribeUrl: string; manageUrl: string }

const SIGNATURE_BYTES = 16
const ID_BYTES = 16

const keys = new WeakMap<Config, Buffer>()

function keyOf(config: Config): Buffer {
  const key = keys.get(config) ?? deriveKey(config.encryptionSecret, 'subscription links')
  keys.set(config, key)
  return key
}

const idBytes = (id: string) => Buffer.from(id.replaceAll('-', ''), 'hex')

const idText = (bytes: Buffer) =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** Links that need no sign-in: the token names contact and mail and cannot be made by anyone else. */
export function subscriptionLinks(config: Config, owner: LinkOwner): SubscriptionLinks {
  const ids = Buffer.concat([idBytes(owner.projectId), idBytes(owner.contactId), idBytes(owner.emailId)])
  const token = Buffer.concat([ids, sign(keyOf(config), ids, SIGNATURE_BYTES)]).toString('base64url')
  return {
    unsubscribeUrl: `${config.apiUrl}/unsubscribe/${token}`,
    subscribeUrl: `${config.apiUrl}/subscribe/${token}`,
    manageUrl: `${config.apiUrl}/manage/${token}`,
  }
}

/** Null when the token was not made here. */
export function readLinkToken(config: Config, token: string): LinkOwner | null {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== 3 * ID_BYTES + SIGNATURE_BYTES) return null
  // Decoding is lenient: it skips what is not base64url, and the last character has bits to spare.
  if (bytes.toString('base64url') !== token) return null
  const ids = bytes.subarray(0, 3 * ID_BYTES)
  if (!isSigned(keyOf(config), ids, bytes.subarray(3 * ID_BYTES))) return null
  return {
    projectId: idText(ids.subarray(0, ID_BYTES)),
    contactId: idText(ids.subarray(ID_BYTES, 2 * ID_BYTES)),
    emailId: idText(ids.subarray(2 * ID_BYTES)),
  }
}
