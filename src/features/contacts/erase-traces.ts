import { uncountContacts } from '../../changes/event-counts.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { limitTime } from '../../db/sql.ts'
import type { SliceResult } from '../../queue/define-work.ts'
import {
  contactToErase,
  deleteEventsUpTo,
  deleteFirstEmails,
  deleteHidden,
  endErasure,
  eraseAnswers,
  eraseFiles,
  filesToErase,
  holdErasure,
  joinErasures,
  lastOfFirstEvents,
  noteAnswers,
  noteFiles,
} from './erase-contacts.sql.ts'

/** Rows per statement: few enough that other statements hardly wait for the locks. */
const EVENTS = 2_000
const EMAILS = 200
const ANSWERS = 1_000
const FILES = 100
const STEP_TIMEOUT_MS = 10_000

/** Does one commit's part of a kind of work. False when there is none. */
type Step = (tx: Ctx) => Promise<boolean>

/**
 * Removes what deleted contacts have left behind, step by step as long as there is time. The kinds take turns: however
 * many contacts are deleted meanwhile, each kind goes on.
 */
export async function eraseTraces(ctx: Ctx, hasTime: () => boolean): Promise<SliceResult> {
  do {
    const contact = await inCommit(ctx, eraseFromContact)
    const files = await inCommit(ctx, eraseSomeFiles)
    const answers = await inCommit(ctx, eraseSomeAnswers)
    if (!contact && !files && !answers) return 'done'
  } while (hasTime())
  return 'more'
}

const inCommit = (ctx: Ctx, step: Step): Promise<boolean> =>
  ctx.atomically(async (tx) => {
    await tx.sql(limitTime, { milliseconds: String(STEP_TIMEOUT_MS) })
    return step(tx)
  })

/** Some events, or else some emails, or else the contact itself. */
const eraseFromContact: Step = async (tx) => {
  const projectId = projectIdOf(tx)
  const [next] = await tx.sql(contactToErase, { projectId, clockShift: tx.services.clockShift() })
  if (!next) return false
  const { id, contactId } = next
  const [event] = await tx.sql(lastOfFirstEvents, { projectId, contactId, limit: EVENTS })
  if (event?.id) {
    await uncountContacts(tx, [contactId], event.id)
    await tx.sql(deleteEventsUpTo, { projectId, contactId, upTo: event.id })
    return true
  }
  const [emails] = await tx.sql(deleteFirstEmails, { projectId, contactId, limit: EMAILS, id })
  if (!emails?.count) await tx.sql(deleteHidden, { projectId, contactId, id })
  return true
}

const eraseSomeFiles: Step = async (tx) => {
  const projectId = projectIdOf(tx)
  const [next] = await tx.sql(filesToErase, { projectId })
  if (!next) return false
  const sets = next.sets.slice(0, FILES)
  await tx.sql(eraseFiles, { projectId, sets })
  await tx.sql(noteFiles, { projectId, id: next.id, sets })
  return true
}

/**
 * Looks through one page of answers for one erasure, which goes through all of them; erasures that start
 * meanwhile wait.
 */
const eraseSomeAnswers: Step = async (tx) => {
  const projectId = projectIdOf(tx)
  const [held] = await tx.sql(holdErasure, { projectId })
  if (!held) return false
  const { id, after } = held
  if (after === '') await tx.sql(joinErasures, { projectId, id })
  const [last] = await tx.sql(eraseAnswers, { projectId, after, limit: ANSWERS })
  if (last) await tx.sql(noteAnswers, { projectId, id, after: last.key })
  else await tx.sql(endErasure, { projectId, id })
  return true
}
