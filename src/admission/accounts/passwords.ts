import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { AppError } from '../../errors.ts'
import { Slots } from '../../lib/async/slots.ts'

/**
 * Argon2id with 19 MiB, two passes and one lane: the first choice of the OWASP Password Storage Cheat Sheet
 * (https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html), in KiB.
 */
const MEMORY_KIB = 19_456
const PASSES = 2
const LANES = 1
const SALT_BYTES = 16
const HASH_BYTES = 32

/** Hashes at once, of 19 MiB each, on one of Node's four threads for such work: a flood of them takes one core and no more. */
const AT_ONCE = 1
/** Requests that may wait for a hash, and for how long, in milliseconds. */
const MAX_WAITING = 100
const WAIT_MS = 10_000

/** PHC string format, as other programs write it too. */
const STORED = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([\w+/]+)\$([\w+/]+)$/

const derive = promisify(argon2)

type Cost = { memory: number; passes: number; parallelism: number }

const COST: Cost = { memory: MEMORY_KIB, passes: PASSES, parallelism: LANES }

/**
 * Hashes passwords off the event loop, a bounded number at once. Those who wait take turns by their network address, so that
 * one that asks for many keeps only itself waiting.
 */
export class Passwords {
  readonly #slots = new Slots(AT_ONCE)
  #waiting = 0

  /** The text to store. Throws SERVICE_UNAVAILABLE when too many others wait. */
  async hash(password: string, address: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES)
    const hash = await this.#derive(password, salt, COST, address)
    return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${base64(salt)}$${base64(hash)}`
  }

  /**
   * Whether it is the password that was stored. Without one it works as long and says no, so that the time does not
   * tell which accounts exist. Throws SERVICE_UNAVAILABLE when too many others wait.
   */
  async verify(password: string, stored: string | null, address: string): Promise<boolean> {
    const [, memory, passes, parallelism, salt = '', hash = ''] = STORED.exec(stored ?? '') ?? []
    const known = hash !== ''
    const cost = known
      ? { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
      : COST
    const expected = known ? Buffer.from(hash, 'base64') : Buffer.alloc(HASH_BYTES)
    const derived = await this.#derive(
      password,
      known ? Buffer.from(salt, 'base64') : randomBytes(SALT_BYTES),
      cost,
      address,
    )
    return known && derived.length === expected.length && timingSafeEqual(derived, expected)
  }

  async #derive(password: string, nonce: Buffer, cost: Cost, address: string): Promise<Buffer> {
    if (this.#waiting >= MAX_WAITING) throw tooManyPasswords()
    this.#waiting += 1
    const giveBack = await this.#slots.takeWithin(WAIT_MS, 1, address).finally(() => {
      this.#waiting -= 1
    })
    if (!giveBack) throw tooManyPasswords()
    try {
      // The same characters in another composition are the same password (RFC 8265, 4.2).
      const message = password.normalize('NFC')
      return await derive('argon2id', { message, nonce, tagLength: HASH_BYTES, ...cost })
    } finally {
      giveBack()
    }
  }
}

const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')

const tooManyPasswords = () =>
  new AppError('SERVICE_UNAVAILABLE', 'Too many people are signing in at this moment.', {
    suggestion: 'Try again in a few seconds.',
    headers: { 'retry-after': '5' },
    nothingDone: true,
  })
