import type { OutputRef } from '@pothos/core'
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, type OffsetPage } from '../paging/offset-page.ts'
import { builder } from './builder.ts'

/** The arguments `page` and `pageSize` of a list. */
export const pageArguments = builder.args((t) => ({
  page: t.int({ defaultValue: 1, description: 'Counts from 1.' }),
  pageSize: t.int({
    defaultValue: DEFAULT_PAGE_SIZE,
    description: `At most ${MAX_PAGE_SIZE}; more is taken as that.`,
  }),
}))

/** The arguments `sort` and `dir`. They are text, because what is not known falls back instead of being refused. */
export const orderArguments = builder.args((t) => ({
  sort: t.string({ description: 'name, createdAt or updatedAt; anything else is taken as createdAt.' }),
  dir: t.string({ description: 'asc or desc; anything else is taken as desc.' }),
}))

/** The type of one page of a list. */
export const offsetPageOf = <Item>(name: string, item: OutputRef<Item>) =>
  builder.objectRef<OffsetPage<Item>>(name).implement({
    description: 'One page of a list.',
    fields: (t) => ({
      data: t.field({ type: [item], resolve: ({ data }) => data }),
      total: t.exposeInt('total', { description: 'Of all pages.' }),
      page: t.exposeInt('page'),
      pageSize: t.exposeInt('pageSize'),
      totalPages: t.exposeInt('totalPages', { description: '0 when the list is empty.' }),
    }),
  })
