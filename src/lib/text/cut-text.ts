/** Cuts the text to at most this many characters, and leaves no half of one at the end. */
export const cutText = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(0, length).replace(/[\ud800-\udbff]$/, '')
