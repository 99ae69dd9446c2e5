import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Leave, TimedTurns } from '../lib/async/timed-turns.ts'
import type { Answer, Job, TaskName } from './tasks.ts'

/** Too many tasks of a project wait. */
export class RenderingBusy extends Error {
  override name = 'RenderingBusy'
}

/**
 * Two places are for all owners, one is for those who have used little time: a short task need not wait for
 * the end of long ones.
 */
const THREADS = { places: 3, reserved: 1 }
const MAX_WAITING = { perOwner: 50, all: 500 }
/** Milliseconds for one task, and for the start of a thread. */
const TASK_MS = 10_000
const START_MS = 30_000

type RunOptions = {
  /** Milliseconds for the task. */
  taskMs?: number
  /** For callers whose number is bounded already: they are never refused. */
  mayWait?: boolean
}
/** A small young generation costs no time here, and spares 140 MB. */
const MEMORY = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 }

/**
 * Threads beside the one that serves requests, started when they are needed first. Owners take turns by the time that
 * they use, each with one task at a time. A task that takes too long, or too much memory, ends with its thread.
 */
export class RenderThreads {
  readonly #taskMs: number
  readonly #turns = new TimedTurns(THREADS)
  readonly #waiting = new Map<string, number>()
  readonly #idle: Worker[] = []
  readonly #running = new Set<Worker>()
  #waitingInAll = 0
  #isStopped = false

  constructor({ taskMs = TASK_MS } = {}) {
    this.#taskMs = taskMs
  }

  /**
   * `jobOf` is asked when the task's turn has come. The result is null when the task exceeded its limits.
   * Throws RenderingBusy.
   */
  async run<Name extends TaskName>(
    owner: string,
    jobOf: () => Job<Name>,
    { taskMs = this.#taskMs, mayWait = false }: RunOptions = {},
  ): Promise<Answer<Name>['result']> {
    const leave = await this.#enter(owner, mayWait)
    const used = { ms: 0 }
    try {
      return await this.#perform(jobOf(), taskMs, used)
    } finally {
      leave(used.ms)
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all([...this.#running].map((thread) => thread.terminate()))
  }

  async #enter(owner: string, mayWait: boolean): Promise<Leave> {
    if (mayWait) return this.#turns.take(owner)
    const own = this.#waiting.get(owner) ?? 0
    if (own >= MAX_WAITING.perOwner || this.#waitingInAll >= MAX_WAITING.all) throw new RenderingBusy()
    this.#noteWaiting(owner, 1)
    try {
      return await this.#turns.take(owner)
    } finally {
      this.#noteWaiting(owner, -1)
    }
  }

  #noteWaiting(owner: string, change: 1 | -1): void {
    const own = (this.#waiting.get(owner) ?? 0) + change
    if (own === 0) this.#waiting.delete(owner)
    else this.#waiting.set(owner, own)
    this.#waitingInAll += change
  }

  /** Notes what the task itself has used. */
  async #perform<Name extends TaskName>(
    job: Job<Name>,
    taskMs: number,
    used: { ms: number },
  ): Promise<Answer<Name>['result']> {
    if (this.#isStopped) throw new RenderingBusy()
    const known = this.#idle.pop()
    const thread = known ?? this.#start()
    thread.ref()
    let began = performance.now()
    try {
      // It says when it has loaded what it works with, which takes long on a busy machine.
      if (!known) await nextMessage(thread, START_MS)
      began = performance.now()
      thread.postMessage(job)
      const [answer]: Answer<Name>[] = await nextMessage(thread, taskMs)
      this.#idle.push(thread)
      return answer?.result ?? null
    } catch (error) {
      await thread.terminate()
      if (isTooMuch(error)) return null
      throw error
    } finally {
      used.ms = performance.now() - began
      // A thread that waits for work keeps no process alive.
      thread.unref()
    }
  }

  #start(): Worker {
    const thread = new Worker(new URL('./thread.ts', import.meta.url), {
      env: {},
      resourceLimits: MEMORY,
    })
    this.#running.add(thread)
    thread.once('exit', () => {
      this.#running.delete(thread)
      const place = this.#idle.indexOf(thread)
      if (place !== -1) this.#idle.splice(place, 1)
    })
    // The caller that waits for the thread gets its error; an error without a caller must not end the
    // process.
    thread.on('error', () => {})
    return thread
  }
}

/** Rejects when there is none in time, and when the thread ends. */
async function nextMessage(thread: Worker, ms: number) {
  const ended = new AbortController()
  const end = () => ended.abort()
  thread.once('exit', end)
  try {
    return await once(thread, 'message', { signal: AbortSignal.any([AbortSignal.timeout(ms), ended.signal]) })
  } finally {
    thread.off('exit', end)
  }
}

const TOO_MUCH = new Set(['ABORT_ERR', 'ERR_WORKER_OUT_OF_MEMORY'])

const isTooMuch = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && TOO_MUCH.has(String(error.code))
