import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { DnsResolver } from './dns-resolver.ts'

export type OutsideRequest = {
  method: string
  url: URL
  headers: Record<string, string>
  body: string | null
}

export type OutsideOptions = {
  dns: DnsResolver
  /** Whether an IP address may be connected to; asked for every hop, about the address that is connected to. */
  mayReach: (address: string) => boolean
  /** Milliseconds for each hop: the name, the connection and the answer. */
  hopMs: number
  maxRedirects: number
  /** Bytes of the answer that are read. */
  maxAnswer: number
}

/** `isRefused`: it was not asked at all, and never will be. */
export type OutsideAnswer =
  | { status: number; body: string; url: string }
  | { failure: string; isRefused: boolean; url: string }

class Refused extends Error {}

/**
 * Asks an address that somebody else chose. A name is looked up once for each hop, and the connection goes to an address
 * that was checked, so that a name that changes meanwhile leads nowhere else. Never rejects.
 */
export async function askOutside(first: OutsideRequest, options: OutsideOptions): Promise<OutsideAnswer> {
  let request = first
  for (let redirects = 0; ; redirects += 1) {
    const url = request.url.href
    try {
      const { status, location, body } = await ask(request, options)
      const next = REDIRECTS.has(status) && location !== undefined ? URL.parse(location, url) : null
      if (next === null) return { status, body, url }
      if (redirects === options.maxRedirects) throw new Refused('It redirects too many times.')
      request = redirected(request, status, next)
    } catch (error) {
      const failure = error instanceof Error ? error.message : String(error)
      return { failure, isRefused: error instanceof Refused, url }
    }
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])
/** What speaks for the sender stays with the host that it was meant for. */
const CREDENTIALS = new Set(['authorization', 'cookie'])

/** As browsers do it (Fetch Standard, "HTTP-redirect fetch"). */
function redirected(request: OutsideRequest, status: number, url: URL): OutsideRequest {
  const isElsewhere = url.origin !== request.url.origin
  const losesBody = status === 303 ? request.method !== 'HEAD' : status < 303 && request.method === 'POST'
  const headers = Object.entries(request.headers).filter(([name]) => {
    const lower = name.toLowerCase()
    return !(isElsewhere && CREDENTIALS.has(lower)) && !(losesBody && lower.startsWith('content-'))
  })
  return {
    url,
    headers: Object.fromEntries(headers),
    ...(losesBody ? { method: 'GET', body: null } : { method: request.method, body: request.body }),
  }
}

type Answer = { status: number; location: string | undefined; body: string }

async function ask({ method, url, headers, body }: OutsideRequest, options: OutsideOptions): Promise<Answer> {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new Refused(`${url.protocol} addresses are not called.`)
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0) assertReachable([host], options)
  const signal = AbortSignal.timeout(options.hopMs)
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const start = url.protocol === 'https:' ? httpsRequest : httpRequest
  const request = start(url, {
    method,
    headers: { ...headers, ...(body !== null && { 'content-length': String(Buffer.byteLength(body)) }) },
    lookup: checkedLookup(options),
    // A connection of its own: one that is kept was checked for somebody else.
    agent: false,
    signal,
  })
  request.once('response', (response) => {
    readAnswer(response, options.maxAnswer).then(
      (text) =>
        resolve({ status: response.statusCode ?? 0, location: response.headers.location, body: text }),
      reject,
    )
  })
  request.once('error', reject)
  request.end(body ?? undefined)
  try {
    return await promise
  } catch (error) {
    throw signal.aborted ? new Error(`There was no answer within ${options.hopMs / 1000} seconds.`) : error
  } finally {
    request.destroy()
  }
}

/** The beginning of an answer as text. */
async function readAnswer(response: IncomingMessage, most: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= most) break
  }
  return Buffer.concat(chunks).subarray(0, most).toString().toWellFormed()
}

function assertReachable(addresses: string[], { mayReach }: OutsideOptions): void {
  const closed = addresses.find((address) => !mayReach(address))
  if (closed !== undefined) {
    throw new Refused(`${closed} is not an address of the public internet; private ones are not called.`)
  }
}

/** Gives the connection only addresses that it may go to; a name with any other is refused. */
const checkedLookup =
  (options: OutsideOptions): LookupFunction =>
  (hostname, { all }, done) => {
    addressesOf(options, hostname).then(
      (addresses) => {
        const [first = { address: '', family: 4 }] = addresses
        if (all) done(null, addresses)
        else done(null, first.address, first.family)
      },
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error)), ''),
    )
  }

async function addressesOf(options: OutsideOptions, hostname: string) {
  const name = hostname.toLowerCase().replace(/\.$/, '')
  const answers = await Promise.all([options.dns.a(name), options.dns.aaaa(name)])
  const addresses = answers.flatMap((answer) => (answer.state === 'found' ? answer.records : []))
  if (addresses.length === 0) throw new Error(`${hostname} has no address in the DNS.`)
  assertReachable(addresses, options)
  return addresses.map((address) => ({ address, family: isIP(address) }))
}
