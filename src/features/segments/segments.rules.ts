/**
 * The part of event names that stands for a segment: in lower case, without anything but letters, digits, blanks,
 * "_" and "-", blanks as "-", and no two "-" in a row. A name of nothing else gives "segment".
 */
export const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .trim()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/[\s-]+/g, '-')
    .replace(/^-|-$/g, '') || 'segment'
