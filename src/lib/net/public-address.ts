import ipaddr from 'ipaddr.js'

/** 2000::/3, of which alone addresses of IPv6 are given to networks (IANA, "IPv6 Global Unicast Address Assignments"). */
const GLOBAL = ipaddr.parseCIDR('2000::/3')

/**
 * Whether an IP address is of the public internet: none of the special-purpose ranges (IANA registries, RFC 6890), which
 * include those that carry an IPv4 address within IPv6 and could lead to a private one.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL)
}
