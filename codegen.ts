import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/**
 * Generates what the sources are compiled against: the Prisma client and the Pothos types, when their schema
 * has changed since the last time. With --schema it also writes schema.graphql and openapi.json, which are
 * committed.
 */
const root = import.meta.dirname
const stampFile = path.join(root, 'src/generated/stamp')

/** Changes whenever something changes that the generated files come from. */
function stampOf(): string {
  const sources = [...globSync('prisma/schema/*.prisma', { cwd: root }), 'package-lock.json'].toSorted()
  const hash = createHash('sha256')
  for (const source of sources) hash.update(source).update(readFileSync(path.join(root, source)))
  return hash.digest('hex')
}

/**
 * `prisma generate` would download an engine that it never runs; any file in its place spares that, and the
 * Node binary is always there.
 */
function generate(): void {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [path.join(root, 'node_modules/prisma/build/index.js'), 'generate'],
    {
      cwd: root,
      env: {
        ...process.env,
        // The generators are commands of packages; npm scripts find them, this one may be run without npm.
        PATH: `${path.join(root, 'node_modules/.bin')}${path.delimiter}${process.env.PATH ?? ''}`,
        PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
        CHECKPOINT_DISABLE: '1',
      },
      encoding: 'utf8',
      timeout: 120_000,
    },
  )
  if (status === 0) return
  process.stderr.write(`${stdout}${stderr}`)
  throw new Error('prisma generate failed')
}

const stamp = stampOf()
if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
  generate()
  writeFileSync(stampFile, stamp)
}

if (process.argv.includes('--schema')) {
  const { printedSchema } = await import('./src/bin/print-schema.ts')
  writeFileSync(path.join(root, 'schema.graphql'), printedSchema())
  const { printedOpenApi } = await import('./src/rest/openapi.ts')
  const { schema } = await import('./src/schema.ts')
  writeFileSync(path.join(root, 'openapi.json'), await printedOpenApi(schema))
}
