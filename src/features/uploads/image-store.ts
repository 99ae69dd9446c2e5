import type { AppError } from '../../errors.ts'

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
