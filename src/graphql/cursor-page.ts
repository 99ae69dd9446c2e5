import type { OutputRef } from '@pothos/core'
import { type CursorPage, DEFAULT_LIMIT, MAX_LIMIT } from '../paging/cursor-page.ts'
import { builder } from './builder.ts'

/** The arguments `limit` and `cursor` of a list. */
export const cursorArguments = builder.args((t) => ({
  limit: t.int({ defaultValue: DEFAULT_LIMIT, description: `At most ${MAX_LIMIT}; more is taken as that.` }),
  cursor: t.string({ description: 'The cursor of the previous page; without it the first page.' }),
}))

/** What counts a list that may be long. */
export type Countable = { countTotal: () => Promise<number> }

/** The type of one page of a list that is walked with a cursor. */
export const cursorPageOf = <Item>(name: string, item: OutputRef<Item>) =>
  builder.objectRef<CursorPage<Item> & Countable>(name).implement({
    description: 'One page of a list, and where the next one begins.',
    fields: (t) => ({
      data: t.field({ type: [item], resolve: ({ data }) => data }),
      cursor: t.exposeString('cursor', { nullable: true, description: 'Null at the end.' }),
      hasMore: t.exposeBoolean('hasMore'),
      total: t.int({
        description:
          'Of all pages, counted for the first page only; 0 on later ones. Of contacts exact up to 10,000, above that as of at most a minute ago; where counting takes too long the last number, or an estimate.',
        resolve: ({ countTotal }) => countTotal(),
      }),
    }),
  })
