import { POPULAR_DOMAINS } from '@zootools/email-spell-checker'
import { disposableEmailBlocklistSet } from 'disposable-email-domains-js'
import everyProvider from 'email-providers/all.json' with { type: 'json' }
import commonProviders from 'email-providers/common.json' with { type: 'json' }

// What is known of a domain without a lookup. Domains are ASCII and in lower case.

const DISPOSABLE = disposableEmailBlocklistSet()

/** Services that forward from addresses created for one purpose each; users have subdomains of some. */
const ALIAS_SERVICES = new Set([
  // addy.io
  '4wrd.cc',
  'addy.io',
  'addymail.com',
  'anonaddy.com',
  'anonaddy.me',
  'mailer.me',
  // SimpleLogin and Proton Pass
  '8alias.com',
  '8shield.net',
  'aleeas.com',
  'dralias.com',
  'passfwd.com',
  'passinbox.com',
  'passmail.com',
  'passmail.net',
  'silomails.com',
  'simplelogin.co',
  'simplelogin.com',
  'simplelogin.fr',
  'simplelogin.io',
  'slmail.me',
  'slmails.com',
  // DuckDuckGo, Apple, Firefox Relay
  'duck.com',
  'privaterelay.appleid.com',
  'mozmail.com',
  'relay.firefox.com',
  // Others
  '33mail.com',
  'erine.email',
  'spamgourmet.com',
])

/** Free mail that the list of providers does not have yet. */
const MISSING_PROVIDERS = [
  'disroot.org',
  'fastmail.com',
  'gmx.ch',
  'keemail.me',
  'posteo.de',
  'posteo.net',
  'riseup.net',
  'startmail.com',
  'tuta.com',
  'tuta.io',
  'tutamail.com',
  'tutanota.com',
  'tutanota.de',
  'ziggo.nl',
  'zohomail.com',
  'zohomail.eu',
]

/** Domains that people write into examples, where no one receives mail. */
const PLACEHOLDERS = new Set(['example.com', 'mydomain.com', 'test.com', 'test.de', 'yourdomain.com'])

const PROVIDERS = new Set([...everyProvider, ...MISSING_PROVIDERS])

const WELL_KNOWN = new Set([...POPULAR_DOMAINS, ...commonProviders, ...MISSING_PROVIDERS])

/** Whether the domain or one that it is part of is in the set. */
function isWithin(domain: string, set: ReadonlySet<string>): boolean {
  for (let rest = domain; rest.includes('.'); rest = rest.slice(rest.indexOf('.') + 1)) {
    if (set.has(rest)) return true
  }
  return false
}

/** Addresses that live for a few minutes or hours and that anyone may read. */
export const isDisposable = (domain: string): boolean => isWithin(domain, DISPOSABLE)

export const isAliasService = (domain: string): boolean => isWithin(domain, ALIAS_SERVICES)

/**
 * Whether anyone can have a mailbox there. It uses the long list of providers: the short one lacks the
 * national domains of the large ones (hotmail.co.uk) and whole countries. The long one also contains
 * throw-away mail, which has a list of its own.
 */
export const isPersonalProvider = (domain: string): boolean =>
  PROVIDERS.has(domain) && !PLACEHOLDERS.has(domain) && !isDisposable(domain) && !isAliasService(domain)

/** Whether there are such addresses, misspelt or not: the long list of providers has gmai.com. */
export const isListedProvider = (domain: string): boolean => PROVIDERS.has(domain)

/** Whether the domain is surely meant as it is written; the long list cannot say that. */
export const isWellKnown = (domain: string): boolean => WELL_KNOWN.has(domain) || isAliasService(domain)
