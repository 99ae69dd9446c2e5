/**
 * Who keeps the mailbox of an address, by its domain: consumers' addresses only, since the domains of firms do not say
 * where their mail is kept. The patterns are read alike by Postgres and by JavaScript; addresses are in lower case.
 */
const PATTERNS = {
  GMAIL: '@(gmail|googlemail)[.]com$',
  OUTLOOK: '@(outlook|hotmail|live|msn)[.]([a-z]{2,3}|com?[.][a-z]{2})$',
  YAHOO: '@(yahoo|ymail|rocketmail|aol)[.]([a-z]{2,3}|com?[.][a-z]{2})$',
  APPLE: '@(icloud|me|mac)[.]com$',
} as const

/** The provider of the address that a piece of SQL gives. */
export const mailboxProviderSql = (address: string): string => `
  case ${Object.entries(PATTERNS)
    .map(([provider, pattern]) => `when ${address} ~ '${pattern}' then '${provider}'`)
    .join('\n    ')}
    else 'OTHER' end::mailbox_provider`

const EXPRESSIONS = Object.entries(PATTERNS).map(([provider, pattern]) => ({
  provider,
  pattern: new RegExp(pattern),
}))

/** The provider of an address; null for all others. */
export const mailboxProviderOf = (address: string): string | null =>
  EXPRESSIONS.find(({ pattern }) => pattern.test(address))?.provider ?? null
