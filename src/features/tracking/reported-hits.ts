import { type Ctx, projectIdOf } from '../../ctx.ts'
import { newId } from '../../lib/ids.ts'
import { insertHits } from './hits.sql.ts'
import { isMachineRequest } from './machines.rules.ts'

/** An open, or with a link a click, that somebody else has seen. */
export type ReportedHit = { emailId: string; at: Date; link: string | null; machine: boolean }

/** Hits of one message that may wait to be counted. */
const MAX_WAITING = 100

/** Notes opens and clicks of the project's mail that a provider has reported; they are counted as those that are seen here. */
export async function noteHits(tx: Ctx, hits: ReportedHit[]): Promise<void> {
  if (hits.length === 0) return
  const projectId = projectIdOf(tx)
  await tx.sql(insertHits, {
    projectIds: hits.map(() => projectId),
    emailIds: hits.map(({ emailId }) => emailId),
    ids: hits.map(({ at }) => newId(at)),
    links: hits.map(({ link }) => link),
    // How many links a message has is not known.
    linkCounts: hits.map(() => 0),
    machines: hits.map(({ machine }) => machine),
    most: MAX_WAITING,
  })
}

/** Whether the name of what has opened a message or followed a link is one of a machine. */
export const isMachine = (agent: string): boolean => isMachineRequest({ 'user-agent': agent })
