import type { Ctx } from '../../ctx.ts'
import { OperatorError } from '../../lib/operator-error.ts'
import { SEALED_COLUMNS, type Sealed } from './stored-secrets.sql.ts'

/** Rows of one statement. */
const PAGE = 500
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

type SealedColumn = (typeof SEALED_COLUMNS)[number]

/** Calls `work` with all secrets of a column, a page at a time. */
async function eachPage(ctx: Ctx, { read }: SealedColumn, work: (rows: Sealed[]) => Promise<void> | void) {
  let [afterProject, afterId] = [FIRST_ID, FIRST_ID]
  for (;;) {
    const rows = await ctx.sql(read, { afterProject, afterId, limit: PAGE })
    await work(rows)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    afterProject = last.projectId
    afterId = last.id
  }
}

/** Refuses to start with an ENCRYPTION_SECRET that does not open what is stored. Throws OperatorError. */
export async function assertSecretsOpen(ctx: Ctx): Promise<void> {
  const { sealing } = ctx.config
  const closed: string[] = []
  for (const column of SEALED_COLUMNS) {
    let count = 0
    await eachPage(ctx, column, (rows) => {
      count += rows.filter(({ sealed }) => sealing.stateOf(sealed) === 'unknown').length
    })
    if (count > 0) closed.push(`${count} ${column.what}`)
  }
  if (closed.length > 0) throw unopened(closed)
}

const unopened = (closed: string[]) =>
  new OperatorError(
    `ENCRYPTION_SECRET does not open ${closed.join(', ')} in the database. Set it (or JWT_SECRET, when it is not set) to the value ` +
      'that they were stored with. To replace it, name the old value in ENCRYPTION_SECRET_PREVIOUS and run ' +
      '"npm run -s cli -- secrets rotate".',
  )

export type Rotated = { resealed: number; current: number }

/** Seals everything that is stored with the first secret. Throws OperatorError when there is something that no secret opens. */
export async function resealSecrets(ctx: Ctx): Promise<Rotated> {
  await assertSecretsOpen(ctx)
  const { sealing } = ctx.config
  const rotated = { resealed: 0, current: 0 }
  for (const column of SEALED_COLUMNS) {
    await eachPage(ctx, column, async (rows) => {
      for (const { projectId, id, sealed } of rows) {
        if (sealing.stateOf(sealed) === 'current') {
          rotated.current += 1
          continue
        }
        const after = Buffer.from(sealing.seal(sealing.open(sealed)))
        const written = await ctx.sql(column.write, { projectId, id, before: sealed, after })
        rotated.resealed += written.length
      }
    })
  }
  return rotated
}
