import type { IncomingHttpHeaders } from 'node:http'

/*
 * Which opens and clicks are those of machines. What their makers say, or what they are seen to do:
 *
 * - Apple Mail with Mail Privacy Protection loads the images of all mail through a proxy, opened or not
 *   (wordtothewise.com/2021/09/apple-mpp); the name that its proxy gives is "Mozilla/5.0" and nothing else
 *   (help.socketlabs.com/docs/identifying-apple-mpp-opens-in-notification-api-events).
 * - Gmail loads an image through GoogleImageProxy when somebody opens the message, and so does Yahoo: these opens count as
 *   those of persons. What Gmail loads ahead while a session is open comes under the name of a browser that nobody has any
 *   more (bird.com/blog/gmail-prefetching-images).
 * - Browsers that load ahead say so: Sec-Purpose (wicg.github.io/nav-speculation/prefetch.html), before it Purpose and
 *   X-Purpose, and X-Moz of Firefox.
 * - Gateways that check mail (Defender, Barracuda, Mimecast, Proofpoint and others) follow its links when it arrives, most
 *   of them all at once (support.arternal.com/en/articles/15216436). Those that name themselves are known by that, the
 *   others by their haste.
 */

const AHEAD_OF_READERS = /^Mozilla\/5\.0$|Edge\/12\.246 Mozilla\/5\.0$/
const PERSONS_PROXY = /GoogleImageProxy|YahooMailProxy/i
const MACHINE_NAMES =
  /bot\b|crawl|spider|slurp|scan|barracuda|mimecast|proofpoint|symantec|trendmicro|sophos|fortinet|cloudmark|ironport|ciscosecureemail|urldefense|safelinks|bingpreview|linkpreview|link preview|prefetch|headless|phantomjs|facebookexternalhit|whatsapp|skypeuripreview|slack-imgproxy|validator|monitor|uptime|\b(?:curl|wget|python|aiohttp|httpx|go-http-client|okhttp|java|libwww-perl|ruby|axios|node-fetch|undici|guzzle|apache-httpclient)\b/i

/** Whether a request says by its headers that no person has caused it. */
export function isMachineRequest(headers: IncomingHttpHeaders): boolean {
  const name = headers['user-agent']?.trim() ?? ''
  if (PERSONS_PROXY.test(name)) return false
  return name === '' || AHEAD_OF_READERS.test(name) || MACHINE_NAMES.test(name) || isAhead(headers)
}

const isAhead = (headers: IncomingHttpHeaders): boolean =>
  ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((header) =>
    /prefetch|preview|prerender/i.test(String(headers[header] ?? '')),
  )

/** An open, or with a link a click, of one message. Times are in milliseconds. */
export type Hit = {
  at: number
  link: string | null
  /** How many links of the message are tracked. */
  links: number
  /** By the headers of its request. */
  machine: boolean
}

/** Nobody has read a message so soon after its hand-over to the provider. */
const AT_ONCE_MS = 2_000
/** Nobody follows two links in this time, */
const TOGETHER_MS = 1_000
/** or all of so many links in this one. */
const ALL_LINKS = 3
const ALL_LINKS_MS = 5_000

/** For how long after a hit others can tell what it was. */
export const JUDGED_AFTER_MS = ALL_LINKS_MS

/** For each of the hits of one message, in the order of time, whether a machine made it. */
export function judgeHits(hits: readonly Hit[], sentAt: number | null): boolean[] {
  const clicks = hits.filter(({ link }) => link !== null)
  const inHaste = clicks.filter((click) => isInHaste(click, clicks))
  return hits.map(
    (hit) =>
      hit.machine ||
      sentAt === null ||
      hit.at < sentAt + AT_ONCE_MS ||
      // Who follows links in haste may load the images as well.
      inHaste.some((click) => click === hit || (hit.link === null && isNear(hit, click, TOGETHER_MS))),
  )
}

function isInHaste(click: Hit, clicks: readonly Hit[]): boolean {
  const linksIn = (ms: number) =>
    new Set(clicks.filter((other) => isNear(other, click, ms)).map(({ link }) => link)).size
  return linksIn(TOGETHER_MS) > 1 || (click.links >= ALL_LINKS && linksIn(ALL_LINKS_MS) >= click.links)
}

const isNear = (one: Hit, other: Hit, ms: number): boolean => Math.abs(one.at - other.at) <= ms
