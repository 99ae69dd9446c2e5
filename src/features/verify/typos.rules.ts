import { POPULAR_DOMAINS, run as suggest } from '@zootools/email-spell-checker'
import { editDistance } from '../../lib/text/edit-distance.ts'
import { isListedProvider, isWellKnown } from './providers.rules.ts'

export type Typo = {
  /** The domain that was probably meant. */
  domain: string
  /**
   * So likely that it counts even if the domain takes mail: others have registered what people write by
   * mistake for the largest providers. Any other guess is worth something only when mail cannot arrive.
   */
  certain: boolean
}

/**
 * So much mail goes to these domains that a domain one letter away is more likely a typing error than a
 * company.
 */
const LARGEST = ['gmail', 'googlemail', 'hotmail', 'icloud', 'outlook', 'yahoo']

/** A slip away from names of one or two letters is half of all short names. */
const SHORTEST_LABEL = 3

/** Wrong entries of the checker's list. */
const NOT_MEANT = new Set(['mailw.com'])

const GUESSES = [
  ...POPULAR_DOMAINS.filter((domain) => labelOf(domain).length >= SHORTEST_LABEL && !NOT_MEANT.has(domain)),
  'fastmail.com',
  'free.fr',
  'gmx.at',
  'gmx.ch',
  'gmx.com',
  'gmx.de',
  'gmx.net',
  'hotmail.co.uk',
  'hotmail.com',
  'hotmail.fr',
  'laposte.net',
  'libero.it',
  'live.com',
  'mail.com',
  'mail.ru',
  'orange.fr',
  'outlook.com',
  't-online.de',
  'tutanota.com',
  'yahoo.co.uk',
  'yahoo.com',
  'yahoo.fr',
  'yandex.ru',
]

/** The slips that are allowed: two in a name of this length or more, one in a shorter one. */
const LONG_LABEL = 6

/**
 * The domain that a domain (ASCII, lower case) is a likely misspelling of; null when it is known or similar
 * to none.
 */
export function findTypo(domain: string): Typo | null {
  if (isWellKnown(domain)) return null
  const found = suggest({
    email: `x@${domain}`,
    domains: GUESSES,
    domainThreshold: 2,
    secondLevelDomains: LARGEST,
    secondLevelThreshold: 1,
    topLevelDomains: ['com', 'net', 'org'],
    topLevelThreshold: 1,
    distanceFunction: editDistance,
  })
  if (!found || found.domain === domain || !isPlausible(domain, found.domain)) return null
  return { domain: found.domain, certain: isCertain(domain, found.domain) }
}

function labelOf(domain: string): string {
  return domain.slice(0, domain.indexOf('.'))
}

const restOf = (domain: string) => domain.slice(domain.indexOf('.') + 1)

function isPlausible(domain: string, meant: string): boolean {
  const label = labelOf(domain)
  // About a domain of no listed provider we only know that it probably ends like most do.
  if (!isListedProvider(meant) && labelOf(meant) !== label) return false
  return label.length >= SHORTEST_LABEL && editDistance(domain, meant) <= (label.length >= LONG_LABEL ? 2 : 1)
}

/** One slip, in the name but not at its start (vmail, cloud), or in "com": hotmail.gr and hotmail.fr are two. */
function isCertain(domain: string, meant: string): boolean {
  const [label, meantLabel] = [labelOf(domain), labelOf(meant)]
  if (!LARGEST.includes(meantLabel) || editDistance(domain, meant) !== 1) return false
  if (label === meantLabel) return restOf(meant) === 'com'
  return restOf(domain) === restOf(meant) && label[0] === meantLabel[0]
}
