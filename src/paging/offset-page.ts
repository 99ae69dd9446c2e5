import { badRequest } from '../errors.ts'

/** Which page of a list is asked for, and in which order, as it came. */
export type PageRequest = { page?: number | null | undefined; pageSize?: number | null | undefined }
export type OrderRequest = { sort?: string | null | undefined; dir?: string | null | undefined }

/** A part of a list. Pages count from 1; an empty list has none. */
export type OffsetPage<Item> = {
  data: Item[]
  total: number
  page: number
  pageSize: number
  totalPages: number
}

export const DEFAULT_PAGE_SIZE = 20
export const MAX_PAGE_SIZE = 100

type Read<Item> = {
  find: (range: { skip: number; take: number }) => Promise<Item[]>
  count: () => Promise<number>
}

/**
 * Reads one page and the number of all items, in two statements whatever the size of the page. The order must be
 * total, so that an item is on exactly one page. Throws BAD_REQUEST for a page or a size below 1; a size above
 * MAX_PAGE_SIZE is taken as that.
 */
export async function readOffsetPage<Item>(
  request: PageRequest,
  { find, count }: Read<Item>,
): Promise<OffsetPage<Item>> {
  const page = atLeastOne('page', request.page ?? 1)
  const pageSize = Math.min(atLeastOne('pageSize', request.pageSize ?? DEFAULT_PAGE_SIZE), MAX_PAGE_SIZE)
  const [data, total] = await Promise.all([find({ skip: (page - 1) * pageSize, take: pageSize }), count()])
  return { data, total, page, pageSize, totalPages: Math.ceil(total / pageSize) }
}

function atLeastOne(name: string, value: number): number {
  if (value < 1) throw badRequest(`The parameter ${name} must be at least 1.`)
  return value
}

export type Direction = 'asc' | 'desc'

/** The requested order; unknown values fall back to the first of the fields and to `desc`. */
export function readOrder<Field extends string>(
  { sort, dir }: OrderRequest,
  fields: readonly [Field, ...Field[]],
): { field: Field; direction: Direction } {
  return {
    field: fields.find((field) => field === sort) ?? fields[0],
    direction: dir === 'asc' ? dir : 'desc',
  }
}
