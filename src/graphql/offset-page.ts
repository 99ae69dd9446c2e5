import type { OutputRef } from '@pothos/core'
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, type OffsetPage } from '../paging/offset-page.ts'
import { builder } from './builder.ts'

/** The arguments `page` and `pageSize` of a list. */
export const pageArguments = builder.args((t) => ({
  page: t.int({ defaultValue: 1, description: 'Number of the page, from 1.' }),
  pageSize: t.int({
    defaultValue: DEFAULT_PAGE_SIZE,
    description: `Number of records of the page, 1 to ${MAX_PAGE_SIZE}; more is taken as ${MAX_PAGE_SIZE}.`,
  }),
}))

/**
 * The arguments `sort` and `dir`. They are text, because unknown values fall back instead of being refused.
 */
export const orderArguments = builder.args((t) => ({
  sort: t.string({
    description: 'Field to sort by: name, createdAt or updatedAt; anything else is taken as createdAt.',
  }),
  dir: t.string({ description: 'Direction of the order: asc or desc; anything else is taken as desc.' }),
}))

/** The type of one page of a list. */
export const offsetPageOf = <Item>(name: string, item: OutputRef<Item>) =>
  builder.objectRef<OffsetPage<Item>>(name).implement({
    description: 'One page of a list, by its number.',
    fields: (t) => ({
      data: t.field({
        type: [item],
        description: 'Records of this page, in the order of the list; none after the last page.',
        resolve: ({ data }) => data,
      }),
      total: t.exposeInt('total', { description: 'Number of records on all pages.' }),
      page: t.exposeInt('page', { description: 'Number of this page, from 1.' }),
      pageSize: t.exposeInt('pageSize', {
        description: `Records that a page may have, at most ${MAX_PAGE_SIZE}.`,
      }),
      totalPages: t.exposeInt('totalPages', {
        description: 'Number of pages of this size; 0 when the list is empty.',
      }),
    }),
  })
