/** What people are spoken to in, as BCP 47 subtags of languages. */
export const LANGUAGES = ['en', 'de', 'fr', 'es', 'nl', 'pt'] as const

export type Language = (typeof LANGUAGES)[number]

/** Nobody's data says more about his language in so many characters. */
const LONGEST_TAG = 100

/** The language of a tag such as `de-AT` (BCP 47), whatever its case, also with `_` in it; null for others and for no tag. */
export function languageOf(tag: unknown): Language | null {
  if (typeof tag !== 'string' || tag.length > LONGEST_TAG) return null
  const [subtag = ''] = tag.trim().toLowerCase().split(/[-_]/, 1)
  return LANGUAGES.find((language) => language === subtag) ?? null
}

/** The first of the tags that names one of our languages decides; English when none does. */
export function chosenLanguage(...tags: unknown[]): Language {
  for (const tag of tags) {
    const language = languageOf(tag)
    if (language) return language
  }
  return 'en'
}

/** The one of our languages that a browser prefers (Accept-Language: RFC 9110, 12.5.4); null when it takes none of them. */
export function preferredLanguage(acceptLanguage: string | undefined): Language | null {
  const ranges = (acceptLanguage ?? '').split(',').flatMap((range) => {
    const [tag, ...parameters] = range.split(';')
    const language = languageOf(tag)
    return language ? [{ language, weight: weightOf(parameters) }] : []
  })
  const [first] = ranges.filter(({ weight }) => weight > 0).toSorted((a, b) => b.weight - a.weight)
  return first?.language ?? null
}

/** Of a range with these parameters: 0 when it is not to be had, or says nothing that can be read. */
function weightOf(parameters: string[]): number {
  const weight = parameters
    .find((parameter) => /^\s*q\s*=/i.test(parameter))
    ?.split('=')[1]
    ?.trim()
  if (weight === undefined) return 1
  return /^[01](?:\.\d*)?$/.test(weight) ? Number(weight) : 0
}
