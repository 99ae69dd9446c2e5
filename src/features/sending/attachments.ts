import type { Config } from '../../config.ts'
import { fieldError, tooLarge } from '../../errors.ts'
import type { MailAttachment } from '../../mail/mailer.ts'
import type { AttachmentInput } from './send.input.ts'

export type AttachmentFile = {
  filename: string
  contentType: string
  disposition: MailAttachment['disposition']
  contentId: string | null
  content: Buffer
}

const MEGABYTE = 1024 * 1024

/** Decodes the files of a request. Too many are a field error, too much is 413. */
export function readAttachments(config: Config, files: AttachmentInput[]): AttachmentFile[] {
  assertCount(config, files)
  const read = files.map(
    (file): AttachmentFile => ({
      filename: file.filename,
      contentType: file.contentType,
      disposition: file.disposition ?? 'attachment',
      contentId: file.contentId ?? null,
      content: Buffer.from(file.content, 'base64'),
    }),
  )
  assertAttachments(config, read)
  return read
}

/** Refuses too many files, and too large ones. The content of a whole message is no attachment. */
export function assertAttachments(config: Config, files: AttachmentFile[]): void {
  const attached = files.filter(({ disposition }) => disposition !== 'entity')
  assertCount(config, attached)
  if (totalSize(attached) <= config.maxAttachmentBytes) return
  throw tooLarge(`The attachments are larger than ${config.maxAttachmentBytes / MEGABYTE} MB together.`)
}

function assertCount(config: Config, files: unknown[]): void {
  if (files.length <= config.maxAttachments) return
  throw fieldError('attachments', 'too_big', `must have at most ${config.maxAttachments} files`)
}

export const totalSize = (files: AttachmentFile[]): number =>
  files.reduce((sum, { content }) => sum + content.length, 0)

/** Base64 with line breaks, as files travel in a message (RFC 2045, 6.8): 78 bytes for 57. */
const ENCODED_GROWTH = 78 / 57

/** Refuses a message that would be too large on the wire; `html` is the largest rendered body. */
export function assertMessageSize(config: Config, html: string, files: AttachmentFile[]): void {
  const size = Buffer.byteLength(html) + totalSize(files) * ENCODED_GROWTH
  if (size <= config.maxMessageBytes) return
  throw tooLarge(`The message is larger than ${config.maxMessageBytes / MEGABYTE} MB.`)
}
