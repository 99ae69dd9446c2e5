import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/**
 * A key of its own for each purpose, so that one use of the secret tells nothing about another. The purpose begins with
 * the name of the program.
 */
export const deriveKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM: nonce, tag and ciphertext in one buffer. */
export function encrypt(key: Buffer, text: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext])
}

/** Throws when the key is another one or the bytes were changed. */
export function decrypt(key: Buffer, sealed: Uint8Array): string {
  const bytes = Buffer.from(sealed)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
}

/** The first one is used for what is new; what was made with the others still counts. */
export type Keys = readonly [Buffer, ...Buffer[]]

/**
 * Secrets as the database keeps them. The first key seals, each of them opens, so that it can be
 * replaced while what was sealed before is still read.
 */
export class Sealing {
  readonly #keys: Keys

  constructor(keys: Keys) {
    this.#keys = keys
  }

  seal(text: string): Uint8Array<ArrayBuffer> {
    return new Uint8Array(encrypt(this.#keys[0], text))
  }

  /** Throws when it was sealed with none of the keys, or changed. */
  open(sealed: Uint8Array): string {
    const text = this.#opened(sealed, this.#keys)
    if (text === null) throw new Error('A stored secret was sealed with another ENCRYPTION_SECRET')
    return text
  }

  /** Whether it was sealed with the first key, with one of the others, or with none of them. */
  stateOf(sealed: Uint8Array): 'current' | 'previous' | 'unknown' {
    if (this.#opened(sealed, [this.#keys[0]]) !== null) return 'current'
    return this.#opened(sealed, this.#keys) === null ? 'unknown' : 'previous'
  }

  #opened(sealed: Uint8Array, keys: readonly Buffer[]): string | null {
    for (const key of keys) {
      try {
        return decrypt(key, sealed)
      } catch {
        // The next one may open it.
      }
    }
    return null
  }
}

export const sign = (key: Buffer, message: Buffer, bytes: number): Buffer =>
  createHmac('sha256', key).update(message).digest().subarray(0, bytes)

export const isSigned = (keys: Keys, message: Buffer, signature: Buffer): boolean =>
  keys.some((key) => {
    const expected = sign(key, message, signature.length)
    return expected.length === signature.length && timingSafeEqual(expected, signature)
  })
