import { z } from 'zod'
import { file } from '../../lib/fields.ts'

export const MAX_MB = 10
export const MAX_IMAGE_BYTES = MAX_MB * 1024 * 1024

export const uploadImageInput = z
  .object({
    image: file.describe(
      `JPEG, PNG, GIF or WebP image of at most ${MAX_MB} MB. Its content decides, not its name.`,
    ),
  })
  .meta({ description: 'The image to store.' })
