import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '../..')

export type Import = {
  from: string
  /** The file inside src that is imported. */
  to: string
  /** `import type`, or nothing but types in the braces: gone at run time. */
  typeOnly: boolean
  /** `import './x.ts'`: for its side effects. */
  bare: boolean
  /** `import('./x.ts')`. */
  dynamic: boolean
}

const STATIC = /^(?:import|export)\s+(?:(type)\s+)?(?:([^'";]*?)\s+from\s+)?'([^']+)'/gm
const DYNAMIC = /\bimport\(\s*'([^']+)'\s*\)/g

/** Names of files, relative to the project's directory; what is generated is left out. */
export const filesOf = (pattern: string): string[] =>
  globSync(pattern, { cwd: root })
    .filter((file) => !file.startsWith('src/generated/'))
    .toSorted()

export const textOf = (file: string): string => readFileSync(path.join(root, file), 'utf8')

/** The imports between files of src, their names relative to src. */
export function importsOfSources(): Import[] {
  return filesOf('src/**/*.ts').flatMap((file) => {
    const text = textOf(file)
    const from = path.relative('src', file)
    const resolve = (specifier: string) => path.join(path.dirname(from), specifier)
    const fixed = [...text.matchAll(STATIC)].map(([, type, names, specifier = '']) => ({
      from,
      to: specifier,
      typeOnly: type !== undefined || isTypesOnly(names),
      bare: type === undefined && names === undefined,
      dynamic: false,
    }))
    const dynamic = [...text.matchAll(DYNAMIC)].map(([, specifier = '']) => ({
      from,
      to: specifier,
      typeOnly: false,
      bare: false,
      dynamic: true,
    }))
    return [...fixed, ...dynamic]
      .filter(({ to }) => to.startsWith('.'))
      .map((found) => ({ ...found, to: resolve(found.to) }))
  })
}

/** `{ type A, type B }` */
function isTypesOnly(names: string | undefined): boolean {
  const inside = /^\{([^}]*)\}$/.exec(names?.trim() ?? '')?.[1]
  const list = (inside ?? '').split(',').filter((name) => name.trim() !== '')
  return list.length > 0 && list.every((name) => name.trim().startsWith('type '))
}
