import { uncountContacts } from '../../changes/event-counts.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { newId } from '../../lib/ids.ts'
import { workKind } from '../../queue/job-queue.ts'
import {
  deleteContacts,
  forgetInJobs,
  forgetInReports,
  hideContacts,
  holdToErase,
  noteErasures,
} from './erase-contacts.sql.ts'

/** The project has deleted contacts that have left traces. */
export const erasureWork = workKind('contacts.erase-traces')

/** Events, and emails, of a contact that is deleted in one commit. */
const MANY = 1_000

/**
 * Deletes contacts of the project with all that is about them: mail (also waiting mail), its contents and
 * files, events, memberships, workflow runs, and their addresses in import reports and in answers kept for
 * repeats. What takes long follows in the background; a contact with very many events or emails loses its
 * address and data at once, and no request finds it. A suppressed address stays suppressed. Returns the ids
 * of the contacts that existed.
 */
export async function eraseContacts(ctx: Ctx, ids: string[]): Promise<string[]> {
  const projectId = projectIdOf(ctx)
  return ctx.atomically(async (tx) => {
    const held = await tx.sql(holdToErase, { projectId, ids, most: MANY })
    if (held.length === 0) return []
    const few = held.filter(({ many }) => !many).map(({ id }) => id)
    const many = held.filter((contact) => contact.many).map(({ id }) => id)
    await uncountContacts(tx, few)
    const [deleted] = await tx.sql(deleteContacts, { projectId, ids: few })
    if (many.length > 0) await tx.sql(hideContacts, { projectId, ids: many })
    const emails = held.map(({ email }) => email)
    await tx.sql(forgetInJobs, { projectId, emails })
    await tx.sql(forgetInReports, { projectId, emails })
    // The contacts that are deleted already share one erasure, the first, which also removes their files.
    const contactIds = [null, ...many]
    const erasureIds = contactIds.map(() => newId(tx.now()))
    await tx.sql(noteErasures, { projectId, ids: erasureIds, contactIds, sets: deleted?.sets ?? [] })
    tx.requestWork(erasureWork)
    return held.map(({ id }) => id)
  })
}

/** False when there is no such contact. */
export const eraseContact = async (ctx: Ctx, id: string): Promise<boolean> =>
  (await eraseContacts(ctx, [id])).length > 0
