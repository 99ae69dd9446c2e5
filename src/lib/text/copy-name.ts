const SUFFIX = ' (Copy)'

/** The name of a copy, shortened so that it has at most `max` characters. */
export function copyName(name: string, max: number): string {
  // Half of a surrogate pair is no text.
  const kept = name.slice(0, max - SUFFIX.length).replace(/[\ud800-\udbff]$/, '')
  return `${kept}${SUFFIX}`
}
