import { type Ctx, projectIdOf } from '../../ctx.ts'
import { notFound, tooMuchAtOnce } from '../../errors.ts'
import type { Email } from '../../generated/prisma/client.ts'
import type { EmailFindUniqueOrThrowArgs } from '../../generated/prisma/models.ts'
import { isId } from '../../lib/ids.ts'
import type { AskedPage } from '../../paging/cursor-page.ts'
import { campaignBodies, firstKeptId } from './campaign-bodies.ts'
import {
  bodySizes,
  contactEmails,
  type EmailFile,
  emailBodies,
  emailFiles,
  emailsUnderWay,
} from './emails.sql.ts'

type Selection = Pick<EmailFindUniqueOrThrowArgs, 'include' | 'select'>

/** `selection` adds what the query asks for to the row's own columns. */
export async function getEmail(ctx: Ctx, id: string, selection: Selection = {}): Promise<Email> {
  const projectId = projectIdOf(ctx)
  const email = isId(id)
    ? await ctx.db.email.findUnique({ ...selection, where: { projectId_id: { projectId, id } } })
    : null
  if (!email) throw notFound('The email')
  return email
}

/** Pages of the mail of contacts, the newest first. */
export async function pagesOfContactEmails(ctx: Ctx, pages: AskedPage[]): Promise<Email[][]> {
  const lists = await contactEmails.read(ctx, pages)
  const ids = lists.flat().map(({ id }) => id)
  const emails = await ctx.db.email.findMany({ where: { projectId: projectIdOf(ctx), id: { in: ids } } })
  const byId = new Map(emails.map((email) => [email.id, email]))
  return lists.map((list) => list.flatMap(({ id }) => byId.get(id) ?? []))
}

/** How many messages each of the contacts has. */
export const countContactEmails = contactEmails.count

/** Whether each of the messages is being handed over at this moment; their rows say so only afterwards. */
export async function areUnderWay(ctx: Ctx, ids: string[]): Promise<boolean[]> {
  const rows = await ctx.sql(emailsUnderWay, { projectId: projectIdOf(ctx), ids })
  const underWay = new Set(rows.map(({ id }) => id))
  return ids.map((id) => underWay.has(id))
}

/** What travelled with each of the messages. */
export async function readFiles(ctx: Ctx, ids: string[]): Promise<EmailFile[][]> {
  const rows = await ctx.sql(emailFiles, { projectId: projectIdOf(ctx), ids })
  const files = new Map(rows.map(({ id, files }) => [id, files]))
  return ids.map((id) => files.get(id) ?? [])
}

/**
 * Most bytes that the bodies of several messages may have together; a single body may be as large as a
 * message.
 */
const MAX_BODIES = 16 * 1024 * 1024

/**
 * The bodies of messages, null where there is none any more. They are read when there is room for them. Throws
 * BAD_REQUEST for more than MAX_BODIES, and SERVICE_UNAVAILABLE.
 */
export async function readBodies(ctx: Ctx, ids: string[]): Promise<(string | null)[]> {
  const wanted = { projectId: projectIdOf(ctx), ids }
  const sizes = await ctx.sql(bodySizes, { ...wanted, firstKept: firstKeptId(ctx) })
  const bytes = sizes.reduce((sum, size) => sum + size.bytes, 0)
  if (sizes.length > 1 && bytes > MAX_BODIES) throw tooMuchAtOnce(MAX_BODIES)
  await ctx.answerBytes.takeAnswer(bytes)
  const rows = await ctx.sql(emailBodies, wanted)
  const bodies = new Map(rows.map(({ id, html }) => [id, html]))
  const missing = ids.filter((id) => !bodies.has(id))
  for (const [id, html] of missing.length > 0 ? await campaignBodies(ctx, missing) : []) bodies.set(id, html)
  return ids.map((id) => bodies.get(id) ?? null)
}
