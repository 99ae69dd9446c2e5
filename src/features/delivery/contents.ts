import type { Ctx } from '../../ctx.ts'
import { AppError } from '../../errors.ts'
import { ByteCache } from '../../lib/byte-cache.ts'
import { LAST_ID } from '../../lib/ids.ts'
import type { JsonObject } from '../../lib/json.ts'
import { PartedText } from '../../lib/text/parted-text.ts'
import type { Together } from '../../mail/mailer.ts'
import { textTemplateOf } from '../../templating/text-template.ts'
import {
  type CampaignContent,
  type CampaignSource,
  campaignSources,
  contentKey,
} from '../emails/campaign-sources.ts'
import { commonParts, compose, composedVariables } from '../emails/compose.ts'
import type { DueEmail } from './delivery.sql.ts'
import type { MailBody } from './outbox.ts'
import { CANCELLED, givenBack, givenUp, type Outcome, type Rendered } from './outcome.ts'
import type { TextParts } from './text-parts.ts'

/** Bodies of campaigns that are kept in memory; a character takes two bytes. */
const MAX_BYTES = 16 * 1024 * 1024
const BYTES = { entry: 500, character: 4 }

/** A message for whose rendering there was no room is tried again after so many milliseconds. */
const BUSY_MS = 2_000

/** A message as it is handed over. `rendered` is null unless it is a campaign's, which is rendered here. */
export type Content = {
  email: DueEmail
  /** Null when it has expired. */
  body: MailBody | null
  rendered: Rendered | null
}

/** The content of a campaign. */
type Source = CampaignSource & {
  /** The keys of the contact's data that it is rendered with. */
  keys: ReadonlySet<string>
  /** Null when each message has to leave alone. */
  common: { html: string[]; text: string[] } | null
}

/**
 * Returns the contents of messages: mail of campaigns is rendered here, all other mail was rendered when it was
 * accepted.
 */
export class Contents {
  readonly #texts: TextParts
  readonly #together: Together | null
  readonly #sources = new ByteCache<Promise<Source | null>>(MAX_BYTES)

  constructor(texts: TextParts, together: Together | null) {
    this.#texts = texts
    this.#together = together
  }

  /** Returns the content of a message of about `size` bytes, or the outcome when it cannot have one. */
  async of(ctx: Ctx, email: DueEmail, size: number): Promise<Content | Outcome> {
    const { projectId, campaignId, variant, html } = email
    if (campaignId === null || html !== null) {
      const body =
        html === null ? null : { html, text: email.text ?? (await this.#texts.of(projectId, html)) }
      return { email, body, rendered: null }
    }
    try {
      const source = await this.#sourceOf(ctx, { projectId, campaignId, variant }, size)
      return source ? await this.#render(ctx, email, source) : CANCELLED
    } catch (error) {
      const isOwn = error instanceof AppError
      if (isOwn && error.code !== 'SERVICE_UNAVAILABLE') return givenUp(email, 'FAILED', error.message)
      if (!isOwn)
        ctx.log.warn({ err: error, emailId: email.id }, 'a message of a campaign waits for its content')
      return givenBack(null, BUSY_MS)
    }
  }

  async #render(ctx: Ctx, email: DueEmail, source: Source): Promise<Content> {
    const { projectId, contactId, id: emailId, toEmail, subscribed } = email
    const data = email.data ?? {}
    const contact = { projectId, contactId, emailId, email: toEmail, subscribed, data }
    const each = { ...ctx, renderBudget: ctx.services.rendering.newBudget() }
    const { tracking } = source
    const { subject, html, headers, text } = await compose(each, source, contact, { tracking })
    const whole = { html, text: text ?? (await this.#texts.of(projectId, html)) }
    return {
      // Many wait for each other, and need no more of the data.
      email: { ...email, subject, headers, data: null },
      body: this.#inParts({ ...whole, subject }, toEmail, source) ?? whole,
      rendered: { subject, variables: usedOf(data, source.keys) },
    }
  }

  /** Null when the message has to leave alone. */
  #inParts(whole: MailBody & { subject: string }, to: string, { common }: Source): MailBody | null {
    if (!common || !this.#together?.addresses.test(to)) return null
    const { words, reach } = this.#together
    if (words.test(whole.subject)) return null
    const html = PartedText.of(common.html, whole.html)
    const text = PartedText.of(common.text, whole.text)
    if (!html || !text || html.holds(words, reach) || text.holds(words, reach)) return null
    return {
      parts: { html, text },
      get html() {
        return html.whole
      },
      get text() {
        return text.whole
      },
    }
  }

  #sourceOf(ctx: Ctx, campaign: CampaignKey, size: number): Promise<Source | null> {
    const key = `${campaign.projectId} ${contentKey(campaign)}`
    const known = this.#sources.get(key)
    if (known) return known
    const read = readSource(ctx, campaign, this.#together).catch((error: unknown) => {
      this.#sources.delete(key)
      throw error
    })
    // A single campaign is always kept, however large.
    const bytes = BYTES.entry + size * BYTES.character
    this.#sources.set(key, read, Math.min(bytes, MAX_BYTES / 4))
    return read
  }
}

type CampaignKey = CampaignContent & { projectId: string }

/** The key of the data that says which language the footer speaks. */
const LOCALE = 'locale'

/** Stands in for a contact: which variables a body has does not depend on who reads it. */
const NOBODY = { contactId: LAST_ID, emailId: LAST_ID, email: '', subscribed: true, data: {} }

async function readSource(
  ctx: Ctx,
  { projectId, ...wanted }: CampaignKey,
  together: Together | null,
): Promise<Source | null> {
  const sources = await campaignSources(ctx.services.database.delivery, projectId, [wanted])
  const source = sources.get(contentKey(wanted))
  if (!source) return null
  const each = { ...ctx, renderBudget: ctx.services.rendering.newBudget() }
  const { used } = await composedVariables(each, source, { projectId, ...NOBODY })
  const { rendering } = ctx.services
  const text = await textTemplateOf(source.body, (html) => rendering.textOfMail(html, projectId))
  const common = together && (await sharedParts(each, { ...source, text }, together))
  return { ...source, text, keys: new Set([...used.map(keyOf), LOCALE]), common }
}

/** Null when the provider would find words of its own in them. */
async function sharedParts(ctx: Ctx, source: CampaignSource, { words }: Together): Promise<Source['common']> {
  const common = await commonParts(ctx, source, source.tracking)
  const said = [...common.html, ...common.text, source.from.name ?? '', source.footerText ?? '']
  return said.some((part) => words.test(part)) ? null : common
}

/** The key of the data that a variable begins with: `plan` of `plan`, `data.plan` and `plan.name`. */
const keyOf = (variable: string): string => variable.replace(/^data\./, '').replace(/\..*$/s, '')

/** Returns the part of the data that rendering the message again needs; null when it needs none. */
function usedOf(data: JsonObject, keys: ReadonlySet<string>): JsonObject | null {
  const used = Object.entries(data).filter(([key]) => keys.has(key))
  return used.length === 0 ? null : Object.fromEntries(used)
}
