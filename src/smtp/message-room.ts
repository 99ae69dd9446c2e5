import { tooLarge, tooManyBodies } from '../errors.ts'
import { ByteBudget, type GiveBack } from '../http/budgets/byte-budget.ts'
import { Slots } from '../lib/async/slots.ts'

const MEGABYTE = 1024 * 1024
/** What each message may have before it takes of the room: many small ones are cheap. */
const FREE_BYTES = 64 * 1024
/** Room is taken in steps. */
const STEP_BYTES = MEGABYTE
/** Messages that are read and stored at the same time have this much together: one has its multiple while it is decoded. */
const LARGE_BYTES = 8 * MEGABYTE
/** Beside one message of the greatest size, for those of others. */
const SPARE_BYTES = 24 * MEGABYTE

/** What a client may send of a message that is too large before it is hung up on. */
const PATIENCE_BYTES = 16 * MEGABYTE

export type Received = { chunks: Buffer[]; bytes: number; giveBack: GiveBack }

/**
 * Where messages are while they are received and read: those of all connections together have a budget of bytes, and of what
 * is read at the same time another one, which the senders have in turns.
 */
export class MessageRoom {
  readonly #budget: ByteBudget
  readonly #turns = new Slots(LARGE_BYTES)
  readonly #maxBytes: number

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#budget = new ByteBudget({
      total: maxBytes + STEP_BYTES + SPARE_BYTES,
      perOwner: maxBytes + STEP_BYTES,
      waitMs: 0,
      refusal: tooManyBodies,
    })
  }

  /**
   * Reads a message to its end. Throws PAYLOAD_TOO_LARGE, and SERVICE_UNAVAILABLE when there is no room: a connection that
   * waited for room would hold what it has.
   */
  async receive(stream: AsyncIterable<Buffer>, owner: string, hangUp: () => void): Promise<Received> {
    const chunks: Buffer[] = []
    const taken: GiveBack[] = []
    const giveBack = () => {
      for (const give of taken.splice(0)) give()
    }
    let bytes = 0
    let refusal: unknown
    try {
      for await (const chunk of stream) {
        bytes += chunk.length
        if (bytes > this.#maxBytes + PATIENCE_BYTES) hangUp()
        if (refusal) continue
        try {
          if (bytes > this.#maxBytes)
            throw tooLarge(`The message is larger than ${this.#maxBytes / MEGABYTE} MB.`)
          while (bytes > FREE_BYTES + taken.length * STEP_BYTES) {
            taken.push(this.#budget.takeNow(STEP_BYTES, owner))
          }
          chunks.push(chunk)
        } catch (error) {
          refusal = error
          chunks.length = 0
          giveBack()
        }
      }
      if (refusal) throw refusal
      return { chunks, bytes, giveBack }
    } catch (error) {
      giveBack()
      throw error
    }
  }

  /** Works with a message when it is its turn, and gives back its room. */
  async use<Result>(
    { chunks, bytes, giveBack }: Received,
    owner: string,
    work: (raw: Buffer) => Promise<Result>,
  ): Promise<Result> {
    const leave = bytes > FREE_BYTES ? await this.#turns.take(bytes, owner) : () => {}
    try {
      const raw = Buffer.concat(chunks)
      chunks.length = 0
      return await work(raw)
    } finally {
      leave()
      giveBack()
    }
  }
}
