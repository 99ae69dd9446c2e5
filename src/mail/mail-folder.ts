import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory, UNFINISHED, writeWhole } from '../lib/files/whole-file.ts'

/** Files by the name of what they belong to: `<id>.<anything>`. A folder that is not there yet is empty. */
export interface MailFolder {
  /** Writes the files one after the other; each is there with all of its content or not at all. */
  write(files: { name: string; content: Buffer | string }[]): Promise<void>
  names(): Promise<string[]>
  /** Null when there is no such file (any more). */
  read(name: string): Promise<Buffer | null>
  /** Removes what belongs to these ids. */
  remove(ids: ReadonlySet<string>): Promise<void>
  /** Removes the files of all but the last `keep` ids in alphabetical order, and leftovers of crashes. */
  prune(keep: number): Promise<void>
}

/** Mail holds links that log people in. */
const OWNER_ONLY = 0o600

const isUnfinished = (name: string) => name.endsWith(UNFINISHED)

export function mailFolder(directory: string): MailFolder {
  const names = async () => (await unlessGone(readdir(directory))) ?? []
  // A file that another process removes meanwhile is no error.
  const remove = async (ids: ReadonlySet<string>, all: string[]) => {
    for (const name of all) if (ids.has(idOf(name))) await rm(join(directory, name), { force: true })
  }
  return {
    async write(files) {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      for (const { name, content } of files) await writeWhole(directory, name, content, OWNER_ONLY)
      await syncDirectory(directory)
    },
    async names() {
      return (await names()).filter((name) => !isUnfinished(name))
    },
    read: (name) => unlessGone(readFile(join(directory, name))),
    remove: async (ids) => remove(ids, await names()),
    async prune(keep) {
      const all = await names()
      await removeAbandoned(directory, all.filter(isUnfinished))
      const ids = [...new Set(all.filter((name) => !isUnfinished(name)).map(idOf))].sort()
      await remove(new Set(ids.slice(0, Math.max(0, ids.length - keep))), all)
    },
  }
}

/** A crash leaves its unfinished file behind; nothing is written for as long as an hour. */
async function removeAbandoned(directory: string, names: string[]): Promise<void> {
  for (const name of names) {
    const file = join(directory, name)
    const found = await unlessGone(stat(file))
    if (found && Date.now() - found.mtimeMs > 3_600_000) await rm(file, { force: true })
  }
}

/** The id that a file belongs to; ids hold no dot. */
export function idOf(fileName: string): string {
  return fileName.slice(0, fileName.indexOf('.'))
}

async function unlessGone<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}
