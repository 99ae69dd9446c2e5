import type { Config } from '../../config.ts'
import type { AppError } from '../../errors.ts'
import { createLocalStore } from './local-store.ts'
import { createS3Store } from './s3-store.ts'

/** Where the bytes of images are kept. What goes wrong inside is thrown as it is, for the log. */
export type ImageStore = {
  /** Returns once the image is there to stay. */
  put: (key: string, bytes: Uint8Array, contentType: string) => Promise<void>
  /** An image that is not there is removed already. */
  remove: (key: string) => Promise<void>
  /** Where anyone can load the image from. */
  urlOf: (key: string) => string
  /** The error that a caller receives when the store fails. */
  failure: () => AppError
}

export const imageStoreOf = (config: Config): ImageStore =>
  config.storage.kind === 's3' ? createS3Store(config.storage) : createLocalStore(config)

/** Images that were uploaded before a change to S3 are still on this machine. */
export async function removeEverywhere(config: Config, key: string): Promise<void> {
  await imageStoreOf(config).remove(key)
  if (config.storage.kind === 's3') await createLocalStore(config).remove(key)
}
