import { randomUUID } from 'node:crypto'
import type { GiveBack } from '../byte-budget.ts'
import { isJsonObject } from '../lib/json.ts'
import type { Piece } from '../pieces.ts'

type Work = {
  /** Waits until there is room for so many bytes. */
  takeRoom: (bytes: number) => Promise<GiveBack>
  /** Makes what is shown of records. */
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
export async function textInPieces(...given: Parameters<typeof partsOf>): Promise<AsyncIterable<string>> {
  const parts = partsOf(...given)
  const first = await parts.next()
  return first.done ? parts : continued(first.value, parts)
}

async function* continued(first: string, parts: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first
  yield* parts
}

async function* partsOf(
  body: unknown,
  list: unknown[],
  pieces: readonly Piece[],
  { takeRoom, complete }: Work,
): AsyncGenerator<string> {
  const mark = randomUUID()
  const text = JSON.stringify(body, (_key, value) => (value === list ? mark : value))
  const [before = '', after = ''] = text.split(`"${mark}"`)
  let separator = `${before}[`
  for (const { bytes, read } of pieces) {
    const giveBack = await takeRoom(bytes)
    try {
      for (const item of await complete(await read())) {
        yield `${separator}${JSON.stringify(item)}`
        separator = ','
      }
    } finally {
      giveBack()
    }
  }
  // Without any records the beginning has not been sent.
  yield `${separator === ',' ? '' : separator}]${after}`
}
