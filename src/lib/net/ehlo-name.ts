import { isIP } from 'node:net'
import { isDomain } from './domain-name.ts'

/**
 * Names that a client may give itself in EHLO (RFC 5321, 4.1.3): a full host name, or an IP address in
 * brackets.
 */
export function isEhloName(text: string): boolean {
  const [, literal] = /^\[(.*)\]$/.exec(text) ?? []
  if (literal === undefined) return /^[\w.-]+$/.test(text) && isDomain(text)
  return literal.startsWith('IPv6:') ? isIP(literal.slice(5)) === 6 : isIP(literal) === 4
}

/** The host of the service's public address, else the full name of this machine, else an address. */
export function ehloNameOf(apiUrl: string, machine: string): string {
  const host = new URL(apiUrl).hostname
  const [name] = [host, machine].filter(isFullName)
  if (name !== undefined) return name
  const address = host.replace(/^\[|\]$/g, '')
  const family = isIP(address)
  if (family === 6) return `[IPv6:${address}]`
  return family === 4 ? `[${address}]` : '[127.0.0.1]'
}

const isFullName = (host: string): boolean => isEhloName(host) && !/^\[|\.localhost$/.test(host)
