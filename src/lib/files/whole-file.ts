import { randomUUID } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** The ending of a file that is being written, or that a crash has left behind. */
export const UNFINISHED = '.tmp'

/**
 * Writes a file so that it exists with all of its content or not at all. It is durable once the directory has
 * been synced, too: see `syncDirectory`. `mode` is its mode before the umask.
 */
export async function writeWhole(
  directory: string,
  name: string,
  content: Uint8Array | string,
  mode = 0o666,
): Promise<void> {
  const unfinished = join(directory, `.${randomUUID()}${UNFINISHED}`)
  try {
    const file = await open(unfinished, 'wx', mode)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(unfinished, join(directory, name))
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
}

/** Makes the names of the files durable: without it a power cut can undo a rename. */
export async function syncDirectory(directory: string): Promise<void> {
  const folder = await open(directory, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
