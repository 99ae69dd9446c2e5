import { BlockList, isIP, isIPv6 } from 'node:net'

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4')

/** Whether the text is an IP address, or a network in CIDR notation (RFC 4632). */
export function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/')
  if (isIP(address) === 0 || more.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (isIPv6(address) ? 128 : 32))
}

/**
 * Returns a function that tells whether an IP address is in one of these addresses and networks; IPv4 also in
 * its IPv6 form.
 */
export function networksOf(texts: readonly string[]): (address: string) => boolean {
  const networks = new BlockList()
  for (const text of texts) {
    const [address = '', prefix] = text.split('/')
    if (prefix === undefined) networks.addAddress(address, familyOf(address))
    else networks.addSubnet(address, Number(prefix), familyOf(address))
  }
  return (address) => isIP(address) !== 0 && networks.check(address, familyOf(address))
}

/** ::ffff:192.0.2.1, as sockets that listen to both families name IPv4. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/**
 * The subscriber behind an address: an IPv4 address itself, of an IPv6 address its /64, which one subscriber
 * gets.
 */
export function subscriberOf(address: string): string {
  const plain = MAPPED.exec(address)?.[1] ?? address
  if (!isIPv6(plain)) return plain
  const [left = [], right = []] = plain.split('::').map((half) => half.split(':').filter(Boolean))
  const zeros = Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0')
  const groups = [...left, ...zeros, ...right].slice(0, 4)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
