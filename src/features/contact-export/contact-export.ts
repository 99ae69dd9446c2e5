import { type Ctx, projectIdOf } from '../../ctx.ts'
import { cursorAfter, keyOfCursor } from '../../paging/cursor-page.ts'
import { findContact } from '../contacts/contacts.ts'
import { SECTIONS } from './export-sections.ts'

/** One bounded piece of what is kept of a contact; `cursor` asks for the next one and is null at the end. */
export type ExportPiece = { section: string; records: object[]; cursor: string | null }

/** Names the list in its cursors. */
const ORDER = 'export'

/** A section and the last key in it; the first one has none. */
const PLACE = /^(\d{1,2}):([0-9a-f-]{36})?$/

/**
 * What is kept of a contact, piece by piece: each has records of one section. A section without records is left out.
 * Throws CONTACT_NOT_FOUND.
 */
export async function exportContact(
  ctx: Ctx,
  { id, cursor }: { id: string; cursor?: string | null | undefined },
): Promise<ExportPiece> {
  const contact = await findContact(ctx, { id })
  const place = cursor ? keyOfCursor(cursor, ORDER, (key) => PLACE.test(key)) : '0:'
  const [, number = '0', after] = PLACE.exec(place) ?? []
  const of = { projectId: projectIdOf(ctx), contactId: contact.id, email: contact.email }
  for (let index = Number(number), from = after ?? null; index < SECTIONS.length; index += 1, from = null) {
    const section = SECTIONS[index]
    if (!section) break
    const rows = await section.read(ctx, of, from, section.limit)
    if (rows.length === 0) continue
    const records = rows.map(({ record }) => record)
    await ctx.answerBytes.takeAnswer(Buffer.byteLength(JSON.stringify(records)))
    const next = rows.length === section.limit ? `${index}:${rows.at(-1)?.key ?? ''}` : `${index + 1}:`
    const isEnd = next === `${SECTIONS.length}:`
    return { section: section.name, records, cursor: isEnd ? null : cursorAfter(ORDER, next) }
  }
  return { section: 'end', records: [], cursor: null }
}
