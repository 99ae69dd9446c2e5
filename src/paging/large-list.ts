import type { Ctx } from '../ctx.ts'
import { tooMuchAtOnce } from '../errors.ts'
import type { Piece } from './pieces.ts'

/** Bytes of a list's records that are read at once. */
const PIECE_BYTES = 1024 * 1024
/**
 * Bytes of the largest list that is read at once for an answer in one part, as all answers over GraphQL are.
 */
const MAX_WHOLE_BYTES = 16 * 1024 * 1024

/** A list of records that may be large; their sizes are known before they are read. */
export type LargeList<Item> = {
  /** Records in the order of the list. */
  records: { id: string; bytes: number }[]
  /** Reads some of the records, in any order. */
  read: (ids: string[]) => Promise<Item[]>
}

/**
 * The records of a list. When they are large together they are read in pieces while the answer is sent (REST), or when
 * there is room for all of them (GraphQL). Records that are deleted meanwhile are left out. Throws SERVICE_UNAVAILABLE,
 * and BAD_REQUEST for more than an answer over GraphQL may hold.
 */
export async function readLarge<Item extends { id: string }>(
  ctx: Ctx,
  { records, read }: LargeList<Item>,
): Promise<Item[]> {
  const inOrder = async (ids: string[]): Promise<Item[]> => {
    const found = new Map((await read(ids)).map((item) => [item.id, item]))
    return ids.flatMap((id) => found.get(id) ?? [])
  }
  const ids = records.map(({ id }) => id)
  if (ids.length === 0) return []
  const bytes = records.reduce((sum, record) => sum + record.bytes, 0)
  if (bytes <= PIECE_BYTES) return inOrder(ids)
  if (ctx.pieces) return ctx.pieces.defer(piecesOf(records, inOrder))
  if (bytes > MAX_WHOLE_BYTES) throw tooMuchAtOnce(MAX_WHOLE_BYTES)
  await ctx.answerBytes.takeAnswer(bytes)
  return inOrder(ids)
}

function piecesOf(
  records: LargeList<unknown>['records'],
  read: (ids: string[]) => Promise<unknown[]>,
): Piece[] {
  const parts: { ids: string[]; bytes: number }[] = []
  for (const { id, bytes } of records) {
    const last = parts.at(-1)
    if (last && last.bytes + bytes <= PIECE_BYTES) {
      last.ids.push(id)
      last.bytes += bytes
    } else {
      parts.push({ ids: [id], bytes })
    }
  }
  return parts.map(({ ids, bytes }) => ({ bytes, read: () => read(ids) }))
}
