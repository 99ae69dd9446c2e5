/**
 * The schema that holds the tables: `?schema=` of the address, as Prisma has it. pg knows nothing of it, so `withSearchPath`
 * makes it the one that the sessions of an address work in.
 */
export const schemaOf = (url: string): string => new URL(url).searchParams.get('schema') ?? DEFAULT_SCHEMA

export const DEFAULT_SCHEMA = 'public'

/** Where pg-boss has its tables: it takes a schema of its own for each database of ours. */
export function queueSchemaOf(url: string): string {
  const schema = schemaOf(url)
  return schema === DEFAULT_SCHEMA ? DEFAULT_QUEUE_SCHEMA : `${schema}_${DEFAULT_QUEUE_SCHEMA}`
}

/** As statements name it. */
export const DEFAULT_QUEUE_SCHEMA = 'pgboss'

/** Names that mean the same with and without quotes, and leave room for what is appended. */
export const isSchemaName = (name: string): boolean => /^(?!pg_)[a-z_][a-z0-9_]{0,49}$/.test(name)

/** The address whose sessions work in its schema. In the default one they work as the server has it. */
export function withSearchPath(url: string): string {
  const schema = schemaOf(url)
  return schema === DEFAULT_SCHEMA ? url : withOptions(url, `-c search_path=${schema}`)
}

/** The address with more settings of the session: those in an address win over those beside it. */
export function withOptions(url: string, options: string): string {
  const address = new URL(url)
  const given = address.searchParams.get('options')
  address.searchParams.set('options', given === null ? options : `${given} ${options}`)
  return address.href
}
