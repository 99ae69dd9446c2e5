import { takeQuota } from '../../admission/quotas.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { sqlState } from '../../db/sql.ts'
import { conflict, notFound } from '../../errors.ts'
import type { Template } from '../../generated/prisma/client.ts'
import type { MessageType } from '../../generated/prisma/enums.ts'
import { given } from '../../lib/given.ts'
import { isId, newId } from '../../lib/ids.ts'
import { escapeLike } from '../../lib/like.ts'
import { copyName } from '../../lib/text/copy-name.ts'
import { withAsciiDomain } from '../../messages/email-address.rules.ts'
import { MAX_NAME } from '../../messages/message.input.ts'
import { readLarge } from '../../paging/large-list.ts'
import {
  type OffsetPage,
  type OrderRequest,
  type PageRequest,
  readOffsetPage,
  readOrder,
} from '../../paging/offset-page.ts'
import { assertSenderVerified } from '../domains/sender.ts'
import { assertSyntax } from './syntax.ts'
import type { CreateTemplateInput, UpdateTemplateInput } from './templates.input.ts'
import { templateSizes } from './templates.sql.ts'

export async function createTemplate(ctx: Ctx, input: CreateTemplateInput): Promise<Template> {
  await assertSyntax(ctx, 'subject', input.subject)
  await assertSyntax(ctx, 'body', input.body)
  await assertSenderVerified(ctx, input.from)
  const now = ctx.now()
  return insertTemplate(ctx, {
    id: newId(now),
    name: input.name,
    subject: input.subject,
    body: input.body,
    from: withAsciiDomain(input.from),
    description: input.description ?? null,
    fromName: input.fromName ?? null,
    replyTo: input.replyTo ?? null,
    type: input.type ?? 'MARKETING',
    createdAt: now,
    updatedAt: now,
  })
}

/** Throws VALIDATION_ERROR when the project has as many templates as its quota allows. */
const insertTemplate = (ctx: Ctx, template: Omit<Template, 'projectId'>): Promise<Template> =>
  ctx.atomically(async (tx) => {
    await takeQuota(tx, 'templates', { field: 'name' })
    return tx.db.template.create({ data: { ...template, projectId: projectIdOf(tx) } })
  })

const missing = () => notFound('The template', 'TEMPLATE_NOT_FOUND')

export async function getTemplate(ctx: Ctx, id: string): Promise<Template> {
  const projectId = projectIdOf(ctx)
  if (!isId(id)) throw notFound('The template')
  const template = await ctx.db.template.findUnique({ where: { projectId_id: { projectId, id } } })
  if (!template) throw missing()
  return template
}

export type TemplateQuery = PageRequest &
  OrderRequest & { type?: MessageType | null | undefined; search?: string | null | undefined }

/** One page of the templates of the project. `search` is looked for in name, description and subject. */
export async function listTemplates(ctx: Ctx, query: TemplateQuery): Promise<OffsetPage<Template>> {
  const projectId = projectIdOf(ctx)
  const { field, direction } = readOrder(query, ['createdAt', 'name', 'updatedAt'])
  const contains = { contains: escapeLike(query.search ?? ''), mode: 'insensitive' as const }
  const where = {
    projectId,
    ...(query.type && { type: query.type }),
    ...(query.search && { OR: [{ name: contains }, { description: contains }, { subject: contains }] }),
  }
  return readOffsetPage(query, {
    find: async (range) => {
      const orderBy = [{ [field]: direction }, { id: direction }]
      const page = await ctx.db.template.findMany({ ...range, where, orderBy, select: { id: true } })
      const sizes = await ctx.sql(templateSizes, { projectId, ids: page.map(({ id }) => id) })
      const read = (ids: string[]) => ctx.db.template.findMany({ where: { projectId, id: { in: ids } } })
      return readLarge(ctx, { records: sizes, read })
    },
    count: () => ctx.db.template.count({ where }),
  })
}

/**
 * Changes only the given fields, so that concurrent changes of different fields are all kept. `updatedAt`
 * stays when nothing changes.
 */
export async function updateTemplate(ctx: Ctx, id: string, input: UpdateTemplateInput): Promise<Template> {
  const current = await getTemplate(ctx, id)
  if (input.subject !== undefined) await assertSyntax(ctx, 'subject', input.subject)
  if (input.body !== undefined) await assertSyntax(ctx, 'body', input.body)
  if (input.from !== undefined) await assertSenderVerified(ctx, input.from)
  const from = input.from === undefined ? undefined : withAsciiDomain(input.from)
  const changes = given({ ...input, from })
  if (!differs(current, changes)) return current
  const [updated] = await ctx.db.template.updateManyAndReturn({
    where: { projectId: projectIdOf(ctx), id },
    data: { ...changes, updatedAt: ctx.now() },
  })
  if (!updated) throw missing()
  return updated
}

const differs = (template: Template, changes: object): boolean =>
  Object.entries(changes).some(([field, value]) => Reflect.get(template, field) !== value)

/** A foreign key was violated; Postgres 18 has a code of its own for RESTRICT. */
const STILL_REFERENCED = new Set(['23001', '23503', 'P2003'])

/**
 * Deletes a template that no workflow step uses. The foreign key decides, so a step that is created at the
 * same moment keeps its template. Campaigns hold a copy of what they send and refer to no template. Mail sent
 * with it keeps the template's id.
 */
export async function deleteTemplate(ctx: Ctx, id: string): Promise<void> {
  if (!isId(id)) throw notFound('The template')
  try {
    const { count } = await ctx.db.template.deleteMany({ where: { projectId: projectIdOf(ctx), id } })
    if (count === 0) throw missing()
  } catch (error) {
    if (!STILL_REFERENCED.has(sqlState(error) ?? '')) throw error
    throw conflict('The template is used by a workflow step; its usage says by which.')
  }
}

/**
 * Creates a copy of a template of the project. Its sender was checked then, and is again when mail is sent.
 */
export async function duplicateTemplate(ctx: Ctx, id: string): Promise<Template> {
  const template = await getTemplate(ctx, id)
  const now = ctx.now()
  const name = copyName(template.name, MAX_NAME)
  return insertTemplate(ctx, { ...template, id: newId(now), name, createdAt: now, updatedAt: now })
}
