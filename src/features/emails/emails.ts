import { type Ctx, projectIdOf } from '../../ctx.ts'
import { notFound } from '../../errors.ts'
import type { Email } from '../../generated/prisma/client.ts'
import type { EmailFindUniqueOrThrowArgs } from '../../generated/prisma/models.ts'
import { isId } from '../../lib/ids.ts'

type Selection = Pick<EmailFindUniqueOrThrowArgs, 'include' | 'select'>

/** `selection` is what the query asks for beside the row's own columns. */
export async function getEmail(ctx: Ctx, id: string, selection: Selection = {}): Promise<Email> {
  const projectId = projectIdOf(ctx)
  const email = isId(id)
    ? await ctx.db.email.findUnique({ ...selection, where: { projectId_id: { projectId, id } } })
    : null
  if (!email) throw notFound('The email')
  return email
}
