import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { type Statement, valuesOf } from '../src/db/sql.ts'
import { type LoadResult, summary } from './http-load.ts'

/** Runs a statement on a pool as fast as it goes: what the database gives to a Node client. */
export async function poolLoad<Params extends Record<string, unknown>>(
  url: string,
  query: Statement<Params, object>,
  paramsAt: (index: number) => NoInfer<Params>,
  options: { connections: number; seconds: number },
): Promise<LoadResult> {
  const { name, text } = query
  const pool = new pg.Pool({ connectionString: url, max: options.connections })
  const latencies: number[] = []
  let next = 0
  const startedAt = performance.now()
  const deadline = startedAt + options.seconds * 1000
  await Promise.all(
    Array.from({ length: options.connections }, async () => {
      while (performance.now() < deadline) {
        const sentAt = performance.now()
        await pool.query({ name, text, values: valuesOf(query, paramsAt(next++)) })
        latencies.push(performance.now() - sentAt)
      }
    }),
  )
  const result = summary(latencies, (performance.now() - startedAt) / 1000, 0)
  await pool.end()
  return result
}

/**
 * Runs a statement with pgbench, prepared: what the database can do at all. The parameters are SQL expressions; `:n` is a
 * random number in them. Null when pgbench is not installed.
 */
export function pgbenchRate<Params>(
  url: string,
  query: Statement<Params, object>,
  parameters: { [Name in keyof Params]: string },
  options: { connections: number; seconds: number },
): number | null {
  const directory = mkdtempSync(path.join(tmpdir(), 'mailwright-pgbench-'))
  const script = path.join(directory, 'script.sql')
  const values = valuesOf(query, parameters)
  const inlined = query.text.replaceAll(/\$(\d+)/g, (_, position) => String(values[Number(position) - 1]))
  writeFileSync(script, `\\set n random(1, 1000000000)\n${inlined.replaceAll(/\s+/g, ' ').trim()};\n`)
  const { connections, seconds } = options
  const args = [
    '-n',
    '-M',
    'prepared',
    '-c',
    String(connections),
    '-j',
    '1',
    '-T',
    String(seconds),
    '-f',
    script,
  ]
  const run = spawnSync('pgbench', [...args, url], { encoding: 'utf8', timeout: (seconds + 30) * 1000 })
  rmSync(directory, { recursive: true, force: true })
  const rate = /tps = ([\d.]+)/.exec(run.stdout ?? '')?.[1]
  return rate ? Number(rate) : null
}
