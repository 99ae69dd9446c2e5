import { BlockList, isIP } from 'node:net'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

/** Whether an IP address is one by which a machine reaches itself; also as IPv4 within IPv6. */
export function isLoopbackAddress(address: string): boolean {
  const family = isIP(address)
  return family !== 0 && LOOPBACK.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** The same of a host as URLs have it: a name, or an address, of IPv6 with or without brackets. */
export function isLoopbackHost(host: string): boolean {
  // RFC 6761, 6.3: these names always mean this machine. A dot at the end says that a name is complete.
  return /^(?:.+\.)?localhost\.?$/i.test(host) || isLoopbackAddress(host.replace(/^\[(.*)\]$/, '$1'))
}
