import type { IncomingMessage } from 'node:http'
import {
  type BrotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  type Gunzip,
  type Inflate,
} from 'node:zlib'
import { AppError } from '../errors.ts'

/** Bytes that a decoder returns at a time. */
const CHUNK = { chunkSize: 64 * 1024 }

/** `bytesWritten` are the compressed bytes that it has taken. */
type Decoder = Gunzip | Inflate | BrotliDecompress

const DECODERS: Record<string, () => Decoder> = {
  gzip: () => createGunzip(CHUNK),
  'x-gzip': () => createGunzip(CHUNK),
  deflate: () => createInflate(CHUNK),
  br: () => createBrotliDecompress(CHUNK),
}

export type Decoding = { name: string; decoder: Decoder }

/**
 * The decoder for the Content-Encoding of a request (RFC 9110, 8.4); null for none. Throws
 * UNSUPPORTED_MEDIA_TYPE.
 */
export function decodingOf({ headers }: IncomingMessage): Decoding | null {
  const name = (headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (name === 'identity' || headers['content-length'] === '0') return null
  const create = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined
  if (!create) throw unknownEncoding(name)
  return { name, decoder: create() }
}

/** RFC 9110, 15.5.16: Accept-Encoding says which would have been taken. */
const unknownEncoding = (name: string) =>
  new AppError('UNSUPPORTED_MEDIA_TYPE', `The Content-Encoding "${name.slice(0, 50)}" is not known here.`, {
    suggestion: 'Send the body as it is, or compressed with one of gzip, deflate and br.',
    headers: { 'accept-encoding': 'gzip, deflate, br' },
  })
