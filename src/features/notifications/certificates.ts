import { X509Certificate } from 'node:crypto'
import type { Services } from '../../ctx.ts'
import { askOutside } from '../../lib/net/outside-request.ts'
import { isPublicAddress } from '../../lib/net/public-address.ts'
import { certificateUrl, isSignedBySns, type SnsMessage, snsHostOf } from './sns.rules.ts'

const HOP_MS = 5_000
const MAX_CERTIFICATE = 16 * 1024
/** How long a certificate is used without asking for it again, and for how long one that could not be had is not asked for. */
const KEPT_MS = 24 * 3_600_000
const MISSED_MS = 60_000
/** SNS has one certificate a region at a time. */
const MAX_KEPT = 50

type Kept = { until: number; certificate: Promise<string | null> }

/** Asks Amazon SNS: for the certificates that its messages are signed with, and to confirm subscriptions. */
export class SnsClient {
  readonly #services: Services
  readonly #kept = new Map<string, Kept>()

  constructor(services: Services) {
    this.#services = services
  }

  /** Whether the message is one of SNS, about a topic that this service listens to. */
  async isGenuine(message: SnsMessage): Promise<boolean> {
    const origin = this.#originOf(message.TopicArn)
    const url = origin === null ? null : certificateUrl(message.SigningCertURL, origin)
    const certificate = url && (await this.#certificate(url))
    if (!certificate) return false
    try {
      return isSignedBySns(message, certificate)
    } catch {
      return false
    }
  }

  /** Confirms a subscription. False when SNS could not be asked. */
  async confirm({ TopicArn, SubscribeURL }: { TopicArn: string; SubscribeURL: string }): Promise<boolean> {
    const url = URL.parse(SubscribeURL)
    if (!url || url.origin !== this.#originOf(TopicArn)) return false
    return (await this.#get(url)) !== null
  }

  /** Null when the topic is not one of the configured ones. */
  #originOf(topic: string): string | null {
    const { sns } = this.#services.config
    const host = sns.topics.includes(topic) ? snsHostOf(topic) : null
    return host && (sns.endpoint ?? `https://${host}`)
  }

  #certificate(url: URL): Promise<string | null> {
    const now = this.#services.now().getTime()
    const known = this.#kept.get(url.href)
    if (known && known.until > now) return known.certificate
    const kept: Kept = { until: now + KEPT_MS, certificate: this.#fetch(url) }
    // #fetch never rejects.
    void kept.certificate.then((certificate) => {
      if (certificate === null) kept.until = now + MISSED_MS
    })
    this.#kept.delete(url.href)
    this.#kept.set(url.href, kept)
    const [oldest] = this.#kept.size > MAX_KEPT ? this.#kept.keys() : []
    if (oldest !== undefined) this.#kept.delete(oldest)
    return kept.certificate
  }

  async #fetch(url: URL): Promise<string | null> {
    const pem = await this.#get(url)
    try {
      const now = this.#services.now()
      const { validFromDate, validToDate } = new X509Certificate(pem ?? '')
      return validFromDate <= now && now <= validToDate ? pem : null
    } catch {
      this.#services.log.warn({ url: url.href }, 'SNS gave no certificate')
      return null
    }
  }

  /** Never rejects. */
  async #get(url: URL): Promise<string | null> {
    const { config, dns, log } = this.#services
    const answer = await askOutside(
      { method: 'GET', url, headers: {}, body: null },
      {
        dns,
        mayReach: (address) => config.sns.endpoint !== null || isPublicAddress(address),
        hopMs: HOP_MS,
        maxRedirects: 0,
        maxAnswer: MAX_CERTIFICATE,
      },
    )
    if ('status' in answer && answer.status === 200) return answer.body
    log.warn({ answer }, 'SNS could not be asked')
    return null
  }
}
