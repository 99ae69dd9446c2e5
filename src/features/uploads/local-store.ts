import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Config } from '../../config.ts'
import { AppError } from '../../errors.ts'
import { syncDirectory, writeWhole } from '../../lib/files/whole-file.ts'
import type { ImageStore } from './image-store.ts'

type Place = Pick<Config, 'dataDir' | 'apiUrl'>

const directoryOf = ({ dataDir }: Pick<Place, 'dataDir'>): string => path.join(dataDir, 'uploads')

/** Images as files under DATA_DIR, which the service itself serves. A crash can leave an unfinished `.tmp` file. */
export function createLocalStore(place: Place): ImageStore {
  const directory = directoryOf(place)
  return {
    async put(key, bytes) {
      const made = await mkdir(directory, { recursive: true, mode: 0o750 })
      if (made !== undefined) await syncDirectory(path.dirname(directory))
      await writeWhole(directory, key, bytes, 0o640)
      await syncDirectory(directory)
    },
    remove: (key) => rm(path.join(directory, key), { force: true }),
    urlOf: (key) => `${place.apiUrl}/uploads/${key}`,
    failure: () =>
      new AppError('SERVICE_UNAVAILABLE', 'The service cannot store files right now.', {
        suggestion: 'Try again later; the operator finds the reason in the log.',
        headers: { 'retry-after': '60' },
      }),
  }
}

export type StoredImage = { file: FileHandle; size: number }

/** Opens an image by a key that has been checked; null when there is none. The caller closes the file. */
export async function openImage(place: Pick<Place, 'dataDir'>, key: string): Promise<StoredImage | null> {
  const file = await openUnlessMissing(path.join(directoryOf(place), key))
  if (!file) return null
  try {
    return { file, size: (await file.stat()).size }
  } catch (error) {
    await file.close()
    throw error
  }
}

async function openUnlessMissing(name: string): Promise<FileHandle | null> {
  try {
    return await open(name, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}
