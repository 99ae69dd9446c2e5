import { crc32, deflateSync } from 'node:zlib'

function pngChunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data])
  const chunk = Buffer.alloc(named.length + 8)
  chunk.writeUInt32BE(data.length, 0)
  named.copy(chunk, 4)
  chunk.writeUInt32BE(crc32(named), named.length + 4)
  return chunk
}

const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')
/** One grey pixel. */
const PNG_HEADER = pngChunk('IHDR', Buffer.from('00000001000000010800000000', 'hex'))
const PNG_END = [pngChunk('IDAT', deflateSync(Buffer.from([0, 127]))), pngChunk('IEND', Buffer.alloc(0))]

const png = Buffer.concat([PNG_SIGNATURE, PNG_HEADER, ...PNG_END])

/** One frame, played once. */
const animatedPng = Buffer.concat([
  PNG_SIGNATURE,
  PNG_HEADER,
  pngChunk('acTL', Buffer.from('0000000100000001', 'hex')),
  pngChunk('fcTL', Buffer.from('0000000000000001000000010000000000000000000100640000', 'hex')),
  ...PNG_END,
])

/** What comes before and after the frame header of a JPEG of one pixel. */
const JPEG_START = `ffd8ffe000104a46494600010101004800480000ffdb004300${'ff'.repeat(64)}`
const JPEG_END = `ffc4001410010000000000000000000000000000000000ffda0008010100013f10ffd9`
const jpegOf = (header: string) => Buffer.from(`${JPEG_START}${header}${JPEG_END}`, 'hex')

/** Images of one pixel, whole and valid. */
export const IMAGES = {
  jpeg: jpegOf('ffc2000b080001000101011100'),
  png,
  animatedPng,
  gif: Buffer.from(
    '47494638396101000100800000ffffff00000021f90400000000002c00000000010001000002024401003b',
    'hex',
  ),
  webpLossy: Buffer.from('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA', 'base64'),
  webpLossless: Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64'),
}

/** Images that say that they have no pixels. */
export const SIZELESS = {
  jpeg: jpegOf('ffc2000b080000000001011100'),
  png: Buffer.concat([
    PNG_SIGNATURE,
    pngChunk('IHDR', Buffer.from('00000000000000010800000000', 'hex')),
    ...PNG_END,
  ]),
  gif: Buffer.concat([Buffer.from('GIF89a'), Buffer.alloc(16)]),
  webp: Buffer.from(IMAGES.webpLossy).fill(0, 26, 30),
}
