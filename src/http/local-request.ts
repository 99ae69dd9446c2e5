import type { IncomingMessage } from 'node:http'
import { isLoopbackAddress, isLoopbackHost } from '../lib/net/loopback.ts'

/** Headers that proxies add: each of them says that the peer is not the caller. */
const PROXY_HEADER =
  /^(?:forwarded|via|x-forwarded|x-forwarded-.+|x-original-.+|x-real-ip|x-client-ip|.+-client-ip|.+-connecting-ip|x-envoy-.+)$/

/**
 * Whether a request comes from this machine and was meant for it. The peer alone does not tell: a proxy on this machine
 * speaks for callers from anywhere, and a page from elsewhere can give its own name the address 127.0.0.1 (DNS
 * rebinding), which only `Host` shows.
 */
export function isLocalRequest({ httpVersion, headers, headersDistinct, socket }: IncomingMessage): boolean {
  const [host = '', ...more] = headersDistinct.host ?? []
  return (
    isLoopbackAddress(socket.remoteAddress ?? '') &&
    more.length === 0 &&
    isLoopbackHost(host.replace(/:\d*$/, '')) &&
    // The protocol version that nginx uses towards a service by default; it then adds no header either.
    httpVersion !== '1.0' &&
    !Object.keys(headers).some((name) => PROXY_HEADER.test(name))
  )
}
