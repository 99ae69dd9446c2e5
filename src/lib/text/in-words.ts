const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

const WORDS = new Intl.RelativeTimeFormat('en')

/** How long ago something happened: "just now", "2 hours ago". */
export function timeAgo(at: Date, now: Date): string {
  const seconds = (now.getTime() - at.getTime()) / 1000
  const found = UNITS.find(([, size]) => seconds >= size)
  return found ? WORDS.format(-Math.floor(seconds / found[1]), found[0]) : 'just now'
}

/** A number of bytes, for people: "12 KB". */
export function sizeInWords(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  return bytes < 1024 * 1024 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`
}
