import { randomUUID } from 'node:crypto'
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
      await work.slice(service.ctx(projectId), turnOf(projectId))
    }
  }
  throw new Error(`${work.kind.name} does not come to an end`)
}
