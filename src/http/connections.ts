import type { Server } from 'node:http'
import { BlockList, isIPv6, type Socket } from 'node:net'

export type ConnectionLimits = {
  /** Open connections of the process. */
  total: number
  /** Open connections of one address; 0 = any number. */
  perAddress: number
  /** Addresses and networks (CIDR) of reverse proxies, behind which are many clients. */
  trustedProxies: readonly string[]
}

/** Keeps one client, or all of them, from taking more connections than the process can serve: others are closed. */
export function limitConnections(server: Server, limits: ConnectionLimits): void {
  server.maxConnections = limits.total
  if (limits.perAddress === 0) return
  const proxies = networksOf(limits.trustedProxies)
  const open = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined || contains(proxies, remoteAddress)) return
    const count = (open.get(remoteAddress) ?? 0) + 1
    if (count > limits.perAddress) return void socket.destroy()
    open.set(remoteAddress, count)
    socket.once('close', () => {
      const left = (open.get(remoteAddress) ?? 0) - 1
      if (left > 0) open.set(remoteAddress, left)
      else open.delete(remoteAddress)
    })
  })
}

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4')

/** IPv4 addresses match in their IPv6 form (::ffff:127.0.0.1) as well. */
const contains = (networks: BlockList, address: string): boolean => networks.check(address, familyOf(address))

function networksOf(texts: readonly string[]): BlockList {
  const networks = new BlockList()
  for (const text of texts) {
    const [address = '', prefix] = text.split('/')
    if (prefix === undefined) networks.addAddress(address, familyOf(address))
    else networks.addSubnet(address, Number(prefix), familyOf(address))
  }
  return networks
}
