import { randomBytes } from 'node:crypto'
import { assertQuota, takeQuota } from '../../admission/quotas.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { isDatabaseUnavailable } from '../../db/sql.ts'
import { AppError, fieldError, notFound, tooLarge } from '../../errors.ts'
import { earliestId, newId } from '../../lib/ids.ts'
import { type OffsetPage, type PageRequest, readOffsetPage } from '../../paging/offset-page.ts'
import { imageStoreOf, removeEverywhere } from './choose-store.ts'
import type { ImageStore } from './image-store.ts'
import { contentTypeOf, extensionFor, hasSize, type ImageExtension } from './images.rules.ts'
import { MAX_IMAGE_BYTES, MAX_MB } from './uploads.input.ts'

/** `size` in bytes. */
export type UploadedImage = { url: string; key: string; contentType: string; size: number }

/**
 * Stores an image where anyone who has its address can load it. The bytes come first, then the row: what stops
 * in between can leave an image without a row, whose address nobody has been told, and never the other way round.
 * The quotas are exact by the row; of bytes that come at the same moment more may be stored for as long as it takes to
 * find out. Throws VALIDATION_ERROR, UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE or what the store fails with.
 */
export async function uploadImage(ctx: Ctx, { image }: { image: Uint8Array }): Promise<UploadedImage> {
  const extension = await assertImage(image)
  for (const [quota, more] of quotasOf(image.length)) await assertQuota(ctx, quota, { field: 'image', more })
  const store = imageStoreOf(ctx.config)
  const uploaded = {
    // The key cannot be guessed: the address of one image must not lead to others.
    key: `${randomBytes(16).toString('hex')}.${extension}`,
    contentType: contentTypeOf(extension),
    size: image.length,
  }
  await put(ctx, store, uploaded.key, image, uploaded.contentType)
  await record(ctx, store, uploaded)
  return { url: store.urlOf(uploaded.key), ...uploaded }
}

const quotasOf = (size: number) =>
  [
    ['images', 1],
    ['imageBytes', size],
  ] as const

async function assertImage(image: Uint8Array): Promise<ImageExtension> {
  // GraphQL has no limit of its own for this field.
  if (image.length > MAX_IMAGE_BYTES) throw tooLarge(`The image is larger than ${MAX_MB} MB.`)
  if (image.length === 0) throw fieldError('image', 'too_small', 'must not be empty')
  // Loaded with the first image: it knows a hundred kinds of files and takes its time and memory.
  const { fileTypeFromBuffer } = await import('file-type')
  const found = await fileTypeFromBuffer(image)
  const extension = found ? extensionFor(found.mime) : null
  if (extension && hasSize(extension, image)) return extension
  throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'The file is not a JPEG, PNG, GIF or WebP image.', {
    suggestion: 'The content is looked at, not the name; convert the image, or send it undamaged.',
  })
}

async function put(ctx: Ctx, store: ImageStore, key: string, image: Uint8Array, type: string): Promise<void> {
  try {
    await store.put(key, image, type)
  } catch (error) {
    ctx.log.error({ err: error, requestId: ctx.requestId }, 'an image could not be stored')
    throw store.failure()
  }
}

type Stored = Omit<UploadedImage, 'url'>

async function record(ctx: Ctx, store: ImageStore, stored: Stored): Promise<void> {
  const now = ctx.now()
  try {
    await ctx.atomically(async (tx) => {
      for (const [quota, more] of quotasOf(stored.size)) await takeQuota(tx, quota, { field: 'image', more })
      await tx.db.upload.create({
        data: { projectId: projectIdOf(tx), id: newId(now), createdAt: now, ...stored },
      })
    })
  } catch (error) {
    // The row may exist all the same when the answer to its commit was lost.
    if (isDatabaseUnavailable(error)) throw error
    await store.remove(stored.key).catch((cause: unknown) => {
      const { requestId } = ctx
      ctx.log.warn({ err: cause, requestId, key: stored.key }, 'an image without a row could not be removed')
    })
    throw error
  }
}

/** The images of the project, the newest first. */
export async function listImages(ctx: Ctx, query: PageRequest): Promise<OffsetPage<UploadedImage>> {
  const where = { projectId: projectIdOf(ctx) }
  const { urlOf } = imageStoreOf(ctx.config)
  return readOffsetPage(query, {
    find: async (range) => {
      const rows = await ctx.db.upload.findMany({ ...range, where, orderBy: { id: 'desc' } })
      return rows.map(({ key, contentType, size }) => ({ url: urlOf(key), key, contentType, size }))
    },
    count: () => ctx.db.upload.count({ where }),
  })
}

/**
 * Deletes an image; mail that shows it shows a gap from then on. The bytes go first: a failure in between
 * leaves a row, and the same request again removes it. Throws RESOURCE_NOT_FOUND, or the error of the store.
 */
export async function deleteImage(ctx: Ctx, key: string): Promise<void> {
  const projectId = projectIdOf(ctx)
  if ((await ctx.db.upload.count({ where: { projectId, key } })) === 0) throw notFound('The image')
  await removeImage(ctx, key)
}

/** The same, also when another request removes it at the same moment. */
async function removeImage(ctx: Ctx, key: string): Promise<void> {
  try {
    await removeEverywhere(ctx.config, key)
  } catch (error) {
    ctx.log.error({ err: error, requestId: ctx.requestId, key }, 'an image could not be removed')
    throw imageStoreOf(ctx.config).failure()
  }
  await ctx.db.upload.deleteMany({ where: { projectId: projectIdOf(ctx), key } })
}

/** Removes at most `limit` images of the project that were uploaded before that time, and returns how many. */
export async function deleteImagesBefore(ctx: Ctx, time: Date, limit: number): Promise<number> {
  const where = { projectId: projectIdOf(ctx), id: { lt: earliestId(time) } }
  const old = await ctx.db.upload.findMany({ where, orderBy: { id: 'asc' }, take: limit })
  for (const { key } of old) await removeImage(ctx, key)
  return old.length
}
