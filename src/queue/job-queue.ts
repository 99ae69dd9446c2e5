import type { Queue, SendOptions } from 'pg-boss'
import type { z } from 'zod'

/** Requests within so many milliseconds share one statement. */
const GATHER_MS = 5

/** A kind of project work, as the code that asks for it knows it: without its handler. */
export type WorkKind = {
  name: string
  /** A request that follows another one waits until so many milliseconds have passed since that one was written. */
  gatherMs: number
}

/** `name` is the queue's, "feature.verb-noun". */
export const workKind = (name: string, { gatherMs = GATHER_MS } = {}): WorkKind => ({ name, gatherMs })

/** The same of a job with a payload of its own. */
export type JobQueue<Payload extends object> = {
  /** The queue's name, "feature.verb-noun". */
  name: string
  payload: z.ZodType<Payload>
  /** Retries, expiry and the like; dead letters of every queue go to DEAD_LETTERS. */
  options?: Omit<Queue, 'name' | 'deadLetter'>
}

export type SendJobOptions = Pick<SendOptions, 'startAfter' | 'singletonKey' | 'priority'>
