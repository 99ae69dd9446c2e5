import { createPrivateKey, createPublicKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { type Ctx, projectIdOf } from '../../ctx.ts'

/** Two names take turns, so that whoever publishes the records has two of them to look after. */
const SELECTORS = ['mailwright', 'mailwright2'] as const

const generateKeys = promisify(generateKeyPair)

/**
 * A key that signs: PEM. RSA with 2048 bits, which every receiver verifies (RFC 8301, 3.2). One at a time, by turns of the
 * projects: it takes a core for a while.
 */
export async function newDkimKey(ctx: Ctx): Promise<string> {
  const giveBack = await ctx.services.heavyWork.take(1, projectIdOf(ctx))
  try {
    return await generateKey()
  } finally {
    giveBack()
  }
}

async function generateKey(): Promise<string> {
  const { privateKey } = await generateKeys('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return privateKey
}

/** The public key as DNS records have it. */
export const publicKeyOf = (privateKey: string): string =>
  createPublicKey(createPrivateKey(privateKey)).export({ type: 'spki', format: 'der' }).toString('base64')

/** The selector of the first key, or that of the key that replaces one. */
export const nextSelector = (current: string | null): string =>
  current === SELECTORS[0] ? SELECTORS[1] : SELECTORS[0]
