import type { Config } from '../../config.ts'
import type { ImageStore } from './image-store.ts'
import { createLocalStore } from './local-store.ts'
import { createS3Store } from './s3-store.ts'

export const imageStoreOf = (config: Config): ImageStore =>
  config.storage.kind === 's3' ? createS3Store(config.storage) : createLocalStore(config)

/** Images that were uploaded before a change to S3 are still on this machine. */
export async function removeEverywhere(config: Config, key: string): Promise<void> {
  await imageStoreOf(config).remove(key)
  if (config.storage.kind === 's3') await createLocalStore(config).remove(key)
}
