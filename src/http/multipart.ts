import { Busboy } from '@fastify/busboy'
import { AppError, fileTooLarge, invalidBody } from '../errors.ts'
import { readBody } from './body.ts'
import type { Exchange } from './exchange.ts'

/** A form field with a file of at most this many bytes. */
export type Upload = { field: string; maxBytes: number }

/** Room for boundaries, headers and small fields beside the file. */
const OVERHEAD_BYTES = 64 * 1024

/**
 * Reads a multipart/form-data body (RFC 7578) with one file. Returns `{ [field]: bytes }`, or `{}` when the
 * body has no such file; other fields are ignored. Throws UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE or
 * INVALID_REQUEST_BODY.
 */
export async function readUpload(
  exchange: Exchange,
  { field, maxBytes }: Upload,
): Promise<Record<string, Buffer>> {
  const contentType = exchange.request.headers['content-type'] ?? ''
  if (!/^\s*multipart\/form-data\s*;/i.test(contentType)) {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'The body must be multipart/form-data.', {
      suggestion: `Send the file as the form field "${field}", as curl -F ${field}=@name does.`,
    })
  }
  const files = await filesOf(contentType, await readBody(exchange, maxBytes + OVERHEAD_BYTES), field)
  const [file] = files
  if (files.length > 1) throw invalidBody(`The body must have one file in the field "${field}".`)
  if (file && file.length > maxBytes) throw fileTooLarge(maxBytes)
  return file ? { [field]: file } : {}
}

/** Fields and files that a browser may send along; more are not needed. */
const LIMITS = { fields: 50, files: 2, parts: 52, fieldSize: OVERHEAD_BYTES }

async function filesOf(contentType: string, body: Buffer, field: string): Promise<Buffer[]> {
  const files: Buffer[][] = []
  try {
    await new Promise<void>((resolve, reject) => {
      const parser = new Busboy({ headers: { 'content-type': contentType }, limits: LIMITS })
      parser.on('file', (name, stream) => {
        const chunks: Buffer[] = []
        if (name === field) files.push(chunks)
        stream.on('error', reject)
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      })
      parser.on('error', reject)
      parser.on('finish', resolve)
      parser.end(body)
    })
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it cannot be parsed'
    throw invalidBody(`The body is not valid multipart/form-data: ${reason}`)
  }
  return files.map((chunks) => Buffer.concat(chunks))
}
