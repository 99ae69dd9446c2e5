import { randomUUID } from 'node:crypto'
import { isDatabaseUnavailable } from '../../src/db/sql.ts'
import type { ProjectWork, Turn } from '../../src/queue/define-work.ts'
import type { Service } from './service.ts'

/** A turn that nobody else can have. */
export const turnOf = (projectId: string, given: Partial<Turn> = {}): Turn => ({
  projectId,
  jobId: randomUUID(),
  attempt: 0,
  priority: 0,
  standing: 'left',
  signal: new AbortController().signal,
  isHeld: () => true,
  hasTime: () => true,
  askForMore: () => {},
  askAgain: () => {},
  ...given,
})

const MAX_ROUNDS = 1_000

/** Runs slices of a kind of work for every project that has some, until none has. */
export async function workThrough(service: Service, work: ProjectWork): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const pending = await work.pending(service.ctx())
    if (pending.length === 0) return
    for (const one of pending) {
      const projectId = typeof one === 'string' ? one : one.projectId
      await tried(() => work.slice(service.ctx(projectId), turnOf(projectId)))
    }
  }
  throw new Error(`${work.kind.name} does not come to an end`)
}

const TRIES = 5

/** As the queue does, tries a slice again when the database took too long: a busy machine is no fault. */
export async function tried(slice: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await slice()
      return
    } catch (error) {
      if (!isDatabaseUnavailable(error) || attempt === TRIES) throw error
    }
  }
}
