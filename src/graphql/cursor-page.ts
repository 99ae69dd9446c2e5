import type { OutputRef } from '@pothos/core'
import { type CursorPage, DEFAULT_LIMIT, MAX_LIMIT } from '../paging/cursor-page.ts'
import { builder } from './builder.ts'

/** The arguments `limit` and `cursor` of a list. */
export const cursorArguments = builder.args((t) => ({
  limit: t.int({
    defaultValue: DEFAULT_LIMIT,
    description: `Number of records of the page, 1 to ${MAX_LIMIT}; more is taken as ${MAX_LIMIT}.`,
  }),
  cursor: t.string({ description: 'Cursor of the previous page; without it the first page.' }),
}))

/** A list whose length is counted only when it is asked for. */
export type Countable = { countTotal: () => Promise<number> }

/** The type of one page of a list that is walked with a cursor. */
export const cursorPageOf = <Item>(name: string, item: OutputRef<Item>) =>
  builder.objectRef<CursorPage<Item> & Countable>(name).implement({
    description: 'One page of a list, and where the next one begins.',
    fields: (t) => ({
      data: t.field({
        type: [item],
        description: 'Records of this page, in the order of the list.',
        resolve: ({ data }) => data,
      }),
      cursor: t.exposeString('cursor', {
        nullable: true,
        description: 'Opaque text that the next page is asked for with; null at the end of the list.',
      }),
      hasMore: t.exposeBoolean('hasMore', { description: 'Whether there are records after this page.' }),
      total: t.int({
        description:
          'Number of records on all pages, counted for the first page only; 0 on later ones. Of contacts exact up to 10,000, above that at most a minute old; where counting takes too long the last known number, or an estimate.',
        resolve: ({ countTotal }) => countTotal(),
      }),
    }),
  })
