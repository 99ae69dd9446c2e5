import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { GiveBack } from '../http/budgets/byte-budget.ts'
import { isJsonObject } from '../lib/json.ts'
import type { Piece } from '../paging/pieces.ts'

type Work = {
  /**
   * Waits until there is room for this many bytes. Only the first piece may be refused: then nothing has been
   * sent.
   */
  takeRoom: (bytes: number, isFirst: boolean) => Promise<GiveBack>
  /** Waits until this many bytes may be worked on. */
  takeTurn: (bytes: number) => Promise<GiveBack>
  /** Turns records into the form that the answer shows. */
  complete: (records: unknown[]) => Promise<unknown[]>
}

/** The list of an answer: the answer itself, or the one list that is in it. */
export function listOf(result: unknown): unknown[] {
  const list = isJsonObject(result) ? Object.values(result).find(Array.isArray) : result
  if (!Array.isArray(list)) throw new Error('An answer that is made in pieces has no list.')
  return list
}

/**
 * The JSON of an answer whose list is read in pieces, as it becomes ready: a piece is read when there is room for it and
 * the client has taken the one before. Returns when the first piece has been read, so that until then the request can be
 * refused.
 */
export async function textInPieces(
  ...given: Parameters<typeof partsOf>
): Promise<AsyncIterable<string | Buffer>> {
  const parts = partsOf(...given)
  let ready: IteratorResult<string | Buffer> | null = await parts.next()
  const iterator = {
    next: async () => {
      const part = ready ?? (await parts.next())
      ready = null
      return part
    },
    // Runs even when nothing was taken: the first part holds its room.
    return: () => parts.return(undefined),
    [Symbol.asyncIterator]: () => iterator,
  }
  return iterator
}

type Parts = AsyncGenerator<string | Buffer, undefined>

async function* partsOf(
  body: unknown,
  list: unknown[],
  pieces: readonly Piece[],
  { takeRoom, takeTurn, complete }: Work,
): Parts {
  const textOf = async ({ bytes, read }: Piece): Promise<Buffer> => {
    const giveBack = await takeTurn(bytes)
    try {
      const records = await read()
      await nextTurn()
      const items = await complete(records)
      await nextTurn()
      // Without the brackets. As bytes it is not copied on its way.
      return Buffer.from(JSON.stringify(items)).subarray(1, -1)
    } finally {
      giveBack()
    }
  }
  const mark = randomUUID()
  const text = JSON.stringify(body, (_key, value) => (value === list ? mark : value))
  const [before = '', after = ''] = text.split(`"${mark}"`)
  let lead = `${before}[`
  for (const [place, piece] of pieces.entries()) {
    const giveBack = await takeRoom(piece.bytes, place === 0)
    try {
      const items = await textOf(piece)
      if (items.length === 0) continue
      yield lead
      lead = ','
      yield items
    } finally {
      giveBack()
    }
  }
  // Without any records the beginning has not been sent.
  yield `${lead === ',' ? '' : lead}]${after}`
}
