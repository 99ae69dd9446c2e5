import { setTimeout as pause } from 'node:timers/promises'
import type { Arrival } from '../../support/mail-sink.ts'
import type { SendingService } from '../../support/mailing.ts'
import { type Answer, type Project, until } from '../../support/service.ts'
import { newCampaign, newContacts, sendNow, stats } from './campaign-support.ts'

/** What has arrived for addresses with a beginning. */
export const arrivalsOf = ({ sink }: SendingService, prefix: string): Arrival[] =>
  sink.arrivals.filter(({ to }) => to.startsWith(prefix))

/**
 * A campaign of a project of its own to so many contacts, of which one message is on its way and the others wait in the
 * queue, until `release` is called.
 */
export async function underWay(context: SendingService, prefix: string, count: number, fields: object = {}) {
  const project = await context.newProject(prefix)
  const ids = await newContacts(context, count, { prefix: `${prefix}-` }, project)
  const { id } = await newCampaign(context, fields, project)
  const release = context.sink.hold()
  await sendNow(context, id, project)
  await until('all are queued and one is on its way', async () => {
    const { sendingCount } = await stats(context, id, project)
    return sendingCount === count && context.sink.underWay.size === 1
  })
  return { id, ids, project, release }
}

/** Pauses or resumes a campaign. */
export const act = (context: SendingService, name: string, id: string, project: Project): Promise<Answer> =>
  context.as(project).graphql(`mutation ($id: ID!) { ${name}(id: $id) { paused status } }`, { id })

/** What was read about a message holds for a second and a half of the real time. */
export const untilForgotten = () => pause(1_700)
