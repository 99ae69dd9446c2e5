import { type ResourceLimits, Worker } from 'node:worker_threads'
import { Slots } from '../async/slots.ts'
import { asBuffer, memoryOf, type ReadingAnswer, type ReadingTask } from './moved-bytes.ts'
import { type ReadMessage, readMessage, UnreadableMessage } from './read-message.ts'

/** Messages up to this size are read in a few milliseconds, whatever is in them. */
const SHORT_BYTES = 16 * 1024
/** A small young generation costs no time here: the bytes of a message are outside of the heap. */
const MEMORY = { maxYoungGenerationSizeMb: 8 }
/** Reading the largest takes a few seconds. */
const MAX_MS = 30_000

/** A message with its bytes. */
export type ReadMail = { message: ReadMessage; raw: Buffer }

type Reading = { resolve: (answer: ReadingAnswer) => void; reject: (error: Error) => void }

/** Reads messages, large ones on another thread, so that the one that serves requests is never blocked for long. */
export class MessageReader {
  readonly #limits: ResourceLimits
  /** The thread has one message at a time: what breaks it costs that message, and none that waits. */
  readonly #turns = new Slots(1)
  #thread: Worker | null = null
  #reading: Reading | null = null
  #isStopped = false

  /** `limits` are those of the thread's memory, in megabytes; Node's own without. */
  constructor(limits: ResourceLimits = {}) {
    this.#limits = { ...MEMORY, ...limits }
  }

  /**
   * Takes over the bytes, which are empty for the caller afterwards: large ones move to the other thread and back, since copies
   * of them on each side would be most of the memory. Throws UnreadableMessage.
   */
  async read(raw: Buffer): Promise<ReadMail> {
    return raw.length <= SHORT_BYTES ? { message: await readMessage(raw), raw } : this.#readElsewhere(raw)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#end(this.#thread, new Error('The service stops.'))
  }

  async #readElsewhere(raw: Buffer): Promise<ReadMail> {
    const leave = await this.#turns.take(1, '')
    try {
      const answer = await this.#answerTo(raw)
      if ('problem' in answer) throw new UnreadableMessage(answer.problem)
      return withBuffers(answer)
    } finally {
      leave()
    }
  }

  async #answerTo(raw: Buffer): Promise<ReadingAnswer> {
    if (this.#isStopped) throw new Error('The service stops.')
    const thread = this.#thread ?? this.#start()
    this.#thread = thread
    const { promise, resolve, reject } = Promise.withResolvers<ReadingAnswer>()
    this.#reading = { resolve, reject }
    const tooLong = new UnreadableMessage('The message takes too long to read.')
    const timer = setTimeout(() => void this.#end(thread, tooLong), MAX_MS)
    thread.postMessage({ raw } satisfies ReadingTask, memoryOf([raw]))
    return promise.finally(() => clearTimeout(timer))
  }

  #start(): Worker {
    const file = new URL('./reading-thread.ts', import.meta.url)
    const thread = new Worker(file, { resourceLimits: this.#limits })
    thread.unref()
    thread.on('message', (answer: ReadingAnswer) => {
      if (thread === this.#thread) this.#reading?.resolve(answer)
    })
    thread.on('error', (error: Error) => void this.#end(thread, error))
    return thread
  }

  async #end(thread: Worker | null, reason: Error): Promise<void> {
    if (thread === null || thread !== this.#thread) return
    this.#thread = null
    this.#reading?.reject(reason)
    await thread.terminate()
  }
}

/** Threads hand over bytes without the methods of a Buffer. */
const withBuffers = ({ message, raw }: { message: ReadMessage; raw: Uint8Array }): ReadMail => ({
  raw: asBuffer(raw),
  message: {
    ...message,
    files: message.files.map((file) => ({ ...file, content: asBuffer(file.content) })),
  },
})
