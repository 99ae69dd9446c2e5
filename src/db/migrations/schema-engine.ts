import { readFile } from 'node:fs/promises'
import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils'
import type { SchemaEngine, SchemaFilter } from '@prisma/schema-engine-wasm/schema_engine_bg'

// The compiler's library knows WebAssembly only together with a browser.
declare const WebAssembly: {
  instantiate(
    source: Uint8Array,
    imports: Record<string, object>,
  ): Promise<{ instance: { exports: { __wbindgen_start(): void } } }>
}

const MODULE = '@prisma/schema-engine-wasm/schema_engine_bg'

type EngineModule = typeof import('@prisma/schema-engine-wasm/schema_engine_bg')
let loading: Promise<EngineModule> | undefined

/** Nothing is managed outside of Prisma's schema. */
export const noFilters: SchemaFilter = { externalTables: [], externalEnums: [] }

/**
 * Prisma's schema engine in this process: the native one is a download from outside the npm registry.
 * `free()` it when done; the connections belong to the caller's adapter.
 */
export async function openSchemaEngine(
  adapterFactory: SqlMigrationAwareDriverAdapterFactory,
): Promise<SchemaEngine> {
  loading ??= loadEngine()
  const { SchemaEngine } = await loading
  const datamodels: [string, string][] = [
    ['schema.prisma', 'datasource db {\n  provider = "postgresql"\n}\n'],
  ]
  return SchemaEngine.new({ datamodels }, () => {}, bindMigrationAwareSqlAdapterFactory(adapterFactory))
}

/** By hand and not as an ES module of WebAssembly, for which Node prints a warning. */
async function loadEngine(): Promise<EngineModule> {
  const engine = await import('@prisma/schema-engine-wasm/schema_engine_bg')
  const wasm = await readFile(new URL('schema_engine_bg.wasm', import.meta.resolve(MODULE)))
  const { instance } = await WebAssembly.instantiate(wasm, {
    './schema_engine_bg.js': withQuietTimers(engine),
  })
  engine.__wbg_set_wasm(instance.exports)
  instance.exports.__wbindgen_start()
  return engine
}

/** The engine never clears its timers of ten seconds, which would keep a finished process alive that long. */
function withQuietTimers(engine: EngineModule): object {
  const name = Object.keys(engine).find((key) => key.startsWith('__wbg_setTimeout_'))
  if (!name) return engine
  return { ...engine, [name]: (callback: () => void, ms: number) => setTimeout(callback, ms).unref() }
}
