import type { Server, Socket } from 'node:net'
import { networksOf, subscriberOf } from '../../lib/net/networks.ts'

export type ConnectionLimits = {
  /** Open connections of the process. */
  total: number
  /** Open connections of one address (IPv6: /64); 0 = any number. */
  perAddress: number
  /** Addresses and networks (CIDR) of reverse proxies, behind which are many clients. */
  trustedProxies: readonly string[]
}

/** Keeps one client, or all of them, from taking more connections than the process can serve: others are closed. */
export function limitConnections(server: Server, limits: ConnectionLimits): void {
  server.maxConnections = limits.total
  if (limits.perAddress === 0) return
  const isProxy = networksOf(limits.trustedProxies)
  const open = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    if (socket.remoteAddress === undefined || isProxy(socket.remoteAddress)) return
    const subscriber = subscriberOf(socket.remoteAddress)
    const count = (open.get(subscriber) ?? 0) + 1
    if (count > limits.perAddress) return void socket.destroy()
    open.set(subscriber, count)
    socket.once('close', () => {
      const left = (open.get(subscriber) ?? 0) - 1
      if (left > 0) open.set(subscriber, left)
      else open.delete(subscriber)
    })
  })
}
