import type { Service } from './service.ts'

/** Runs the work and returns how many statements it ran on the pool, without those of Prisma; `soFar` tells meanwhile. */
export async function countStatements(
  { app }: Service,
  work: (soFar: () => number) => Promise<unknown>,
): Promise<number> {
  const { database } = app.services
  const { sql } = database
  let statements = 0
  database.sql = (query, params) => {
    statements += 1
    return sql(query, params)
  }
  try {
    await work(() => statements)
  } finally {
    database.sql = sql
  }
  return statements
}
