/** The images that are taken, by the extension of their keys. */
const CONTENT_TYPES = { jpg: 'image/jpeg', png: 'image/png', gif: 'image/gif', webp: 'image/webp' } as const

export type ImageExtension = keyof typeof CONTENT_TYPES
export type ImageContentType = (typeof CONTENT_TYPES)[ImageExtension]

export const contentTypeOf = (extension: ImageExtension): ImageContentType => CONTENT_TYPES[extension]

/** Cache-Control of an image: the file under a key never changes. */
export const IMMUTABLE = 'public, max-age=31536000, immutable'

/** All that a key can be: nothing in it leads to another folder or has a meaning to a file system. */
const KEY = /^[0-9a-f]{32}\.(jpg|png|gif|webp)$/

const isExtension = (text: string | undefined): text is ImageExtension =>
  text !== undefined && Object.hasOwn(CONTENT_TYPES, text)

/** The media type of the image under a key; null when no image can have the key. */
export function contentTypeOfKey(key: string): ImageContentType | null {
  const extension = KEY.exec(key)?.[1]
  return isExtension(extension) ? CONTENT_TYPES[extension] : null
}

/** By the names of the media types; an animated PNG is a PNG that not everyone shows in full. */
const EXTENSIONS: Record<string, ImageExtension> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/apng': 'png',
  'image/gif': 'gif',
  'image/webp': 'webp',
}

export const extensionFor = (mediaType: string): ImageExtension | null => EXTENSIONS[mediaType] ?? null

/**
 * Whether the header says how large the image is. Magic bytes alone are few ("GIF" begins many a text), and
 * what was cut off before its size cannot be shown by anyone.
 */
export function hasSize(extension: ImageExtension, bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  try {
    return SIZED[extension](view)
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/** Reading past the end throws a RangeError. */
const SIZED: Record<ImageExtension, (image: DataView) => boolean> = {
  png: (image) => textAt(image, 12) === 'IHDR' && image.getUint32(16) > 0 && image.getUint32(20) > 0,
  gif: (image) =>
    ['GIF87a', 'GIF89a'].includes(textAt(image, 0, 6)) &&
    image.getUint16(6, true) > 0 &&
    image.getUint16(8, true) > 0,
  webp: isSizedWebp,
  jpg: isSizedJpeg,
}

const textAt = (image: DataView, offset: number, length = 4): string =>
  String.fromCharCode(...Array.from({ length }, (_, index) => image.getUint8(offset + index)))

/** RFC 9649. The lossless and the extended form store the size less one, so that it is never 0. */
function isSizedWebp(image: DataView): boolean {
  const form = textAt(image, 12)
  if (form === 'VP8X') return image.byteLength >= 30
  if (form === 'VP8L') return image.getUint8(20) === 0x2f && image.byteLength >= 25
  const [width, height] = [image.getUint16(26, true) & 0x3fff, image.getUint16(28, true) & 0x3fff]
  return form === 'VP8 ' && width > 0 && height > 0
}

/** ITU T.81, B.2: segments of a marker and a length, of which a frame header (SOF) has the size. */
function isSizedJpeg(image: DataView): boolean {
  let offset = 2
  for (;;) {
    if (image.getUint8(offset) !== 0xff) return false
    const marker = image.getUint8(offset + 1)
    if (isFrameHeader(marker)) return image.getUint16(offset + 5) > 0 && image.getUint16(offset + 7) > 0
    if (marker === 0xd9 || marker === 0xda) return false
    // Any number of 0xff may stand before a marker.
    offset += marker === 0xff ? 1 : 2 + image.getUint16(offset + 2)
  }
}

/** 0xc4, 0xc8 and 0xcc, among them, are tables. */
const isFrameHeader = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
