import { editDistance } from '../lib/text/edit-distance.ts'

/** Longer ones are no slips of a typist. */
const MAX_LENGTH = 80
const MAX_SLIPS = 2

/** Names that other services, and older habits, use for the paths. */
const SYNONYMS: Record<string, string> = {
  '/emails': '/v1/send',
  '/email': '/v1/send',
  '/mail/send': '/v1/send',
  '/send-email': '/v1/send',
  '/messages': '/v1/send',
  '/event': '/v1/track',
  '/identify': '/v1/track',
  '/lists': '/segments',
  '/audiences': '/segments',
  '/docs/api': '/docs',
  '/swagger': '/docs',
  '/api-docs': '/docs',
  '/openapi': '/openapi.json',
  '/openapi.yaml': '/openapi.json',
  '/graphiql': '/graphql',
  '/playground': '/graphql',
  '/health': '/health/ready',
  '/healthz': '/health/ready',
  '/ping': '/health/live',
}

/**
 * The path that was likely meant instead of an unknown one; null when none looks like it. `isKnown` tells
 * whether a path leads anywhere, `fixed` are the paths without parameters.
 */
export function nearPath(
  path: string,
  isKnown: (path: string) => boolean,
  fixed: Iterable<string>,
): string | null {
  if (path.length > MAX_LENGTH) return null
  const plain = path
    .toLowerCase()
    .replaceAll(/\/{2,}/g, '/')
    .replace(/(?<=.)\/$/, '')
  const bare = plain.replace(/^\/api(?=\/)/, '').replace(/^\/v\d+(?=\/)/, '')
  const variants = [
    plain,
    bare,
    `/v1${bare}`,
    SYNONYMS[bare],
    `${bare}s`,
    bare.replace(/^(\/[^/]+?)(?=\/|$)/, '$1s'),
  ]
  const found = variants.find((one) => one !== undefined && one !== path && isKnown(one))
  if (found) return found
  const near = [...fixed]
    .filter((one) => Math.abs(one.length - plain.length) <= MAX_SLIPS)
    .map((one) => ({ one, slips: editDistance(plain, one) }))
    .toSorted((a, b) => a.slips - b.slips)
    .find(({ slips }) => slips <= MAX_SLIPS)
  return near?.one ?? null
}
