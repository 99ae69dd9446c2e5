import type { ReadMessage } from './read-message.ts'

/** What is asked of the thread that reads, and what it answers: the message, or what is wrong with it. */
export type ReadingTask = { raw: Uint8Array }
export type ReadingAnswer = { message: ReadMessage; raw: Uint8Array } | { problem: string }

/** The memory of bytes that have it for themselves, which can move to another thread; that of small ones is shared. */
export const memoryOf = (all: Uint8Array[]): ArrayBuffer[] =>
  all.flatMap(({ buffer, byteLength }) =>
    buffer instanceof ArrayBuffer && buffer.byteLength === byteLength && byteLength > 0 ? [buffer] : [],
  )

export const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)
