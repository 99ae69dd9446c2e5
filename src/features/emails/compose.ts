import type { Config } from '../../config.ts'
import type { Ctx } from '../../ctx.ts'
import type { MessageType, Tracking } from '../../generated/prisma/enums.ts'
import type { JsonObject } from '../../lib/json.ts'
import { isMarkup, withLineBreaks } from '../../lib/text/html.ts'
import { chosenLanguage } from '../../lib/text/languages.ts'
import type { TemplateVariables } from '../../templating/template-variables.ts'
import { footerText, withFooter } from '../subscriptions/footer.ts'
import { type SubscriptionLinks, subscriptionLinks } from '../subscriptions/subscription-links.ts'
import { render } from '../templates/render.ts'
import { isTracked, trackedTemplate, trackMessage } from '../tracking/track-message.ts'

/** The parts of a message that are the same for all of its recipients. */
export type MessageSource = {
  subject: string
  body: string
  type: MessageType
  from: { name?: string | undefined; email: string }
  /** Template of the text part, where it is created once for all recipients (`textTemplateOf`). */
  text?: string | null
  /** BCP 47 tag of the project's language; the footer speaks it to contacts whose `locale` is not known. */
  language: string
  /** What the project adds to its footers, on one line or several. */
  footerText: string | null
}

export type MessageContact = {
  projectId: string
  contactId: string
  emailId: string
  email: string
  /** The display name of this mail. */
  name?: string | undefined
  subscribed: boolean
  data: JsonObject
}

export type Composed = {
  subject: string
  html: string
  /** Null without a template for it: then it is converted from the HTML. */
  text: string | null
  /** Headers that the type of the message calls for. */
  headers: { name: string; value: string }[]
}

export type ComposeOptions = {
  /** More variables, such as the event that caused the message. */
  extra?: JsonObject
  /** Which messages of the project are tracked; by default none, as in a preview. */
  tracking?: Tracking
}

/** Renders a message for one contact. Throws as `render` does. */
export async function compose(
  ctx: Ctx,
  source: MessageSource,
  contact: MessageContact,
  { extra = {}, tracking = 'DISABLED' }: ComposeOptions = {},
): Promise<Composed> {
  const links = linksOf(ctx.config, source, contact)
  const tracked = isTracked(tracking, source.type) ? await trackMessage(ctx, source.body, contact) : null
  const { subject, html, text } = await render(ctx, 'message', {
    ...templateOf({ ...source, ...tracked }),
    text: source.text ?? null,
    variables: variablesFor(contact, links, { ...extra, ...tracked?.variables }),
  })
  const needsFooter = source.type === 'MARKETING' && !holdsLink(html, links)
  const footer = needsFooter ? footerOf(source, contact, links) : null
  const whole = footer ? withFooter(html, footer) : html
  return {
    subject,
    html: tracked?.withPixel(whole) ?? whole,
    text: text !== null && footer ? `${text}\n\n${footerText(footer)}` : text,
    headers: source.type === 'TRANSACTIONAL' ? [] : oneClickHeaders(links),
  }
}

/** Shorter texts stay with what is beside them. */
const SHORTEST_PART = 32

/**
 * What the bodies of a message have in common, whoever gets it, in its order: in the HTML and in the text part. Throws as
 * `render` does.
 */
export async function commonParts(
  ctx: Ctx,
  source: MessageSource,
  tracking: Tracking,
): Promise<{ html: string[]; text: string[] }> {
  const { body } = isTracked(tracking, source.type) ? await trackedTemplate(ctx, source.body) : source
  const parts = await render(ctx, 'parts', { template: body })
  // What is added to a body stands before its end.
  const html = isMarkup(body)
    ? parts.flatMap((part) => part.split(/(?=<\/body)/i))
    : parts.map(withLineBreaks)
  const text = source.text ? await render(ctx, 'parts', { template: source.text }) : []
  return { html: html.flatMap(longPart), text: text.flatMap(longPart) }
}

/** A line break is not divided: it may be of two characters. */
function longPart(part: string): string[] {
  const whole = part.replace(/^[\r\n]+|[\r\n]+$/g, '')
  return whole.length < SHORTEST_PART ? [] : [whole]
}

/**
 * The variables that a message refers to, and those of them that would be empty for the contact. Throws as `render`
 * does.
 */
export function composedVariables(
  ctx: Ctx,
  source: MessageSource,
  contact: MessageContact,
): Promise<TemplateVariables> {
  const links = linksOf(ctx.config, source, contact)
  const input = { ...templateOf(source), variables: variablesFor(contact, links, {}) }
  return render(ctx, 'variables', input)
}

const templateOf = ({ subject, body }: MessageSource) => ({ subject, body })

const linksOf = (config: Config, source: MessageSource, contact: MessageContact): SubscriptionLinks =>
  usesLinks(source) ? subscriptionLinks(config, contact) : NO_LINKS

const NO_LINKS: SubscriptionLinks = { unsubscribeUrl: '', subscribeUrl: '', manageUrl: '' }

/** Signing links costs more than rendering a short message, so it is left out where nothing can show them. */
const usesLinks = ({ type, subject, body }: MessageSource): boolean =>
  type !== 'TRANSACTIONAL' || subject.includes('Url') || body.includes('Url')

/** The variables that texts about a contact can show. Links are made for texts that may hold one. */
export const variablesIn = (
  config: Config,
  texts: readonly string[],
  contact: MessageContact,
  extra: JsonObject,
): JsonObject => {
  const usesUrl = texts.some((text) => text.includes('Url'))
  return variablesFor(contact, usesUrl ? subscriptionLinks(config, contact) : NO_LINKS, extra)
}

function variablesFor(contact: MessageContact, links: SubscriptionLinks, extra: JsonObject): JsonObject {
  const { contactId, email, subscribed, data, name } = contact
  const named = data.name !== undefined && data.name !== null
  return {
    ...data,
    ...(!named && name !== undefined && { name }),
    data,
    ...extra,
    id: contactId,
    email,
    svc_id: contactId,
    svc_email: email,
    subscribed,
    ...links,
  }
}

/** Looked for in what the reader gets: in the template it may stand in a section that shows nothing. */
const holdsLink = (html: string, { unsubscribeUrl, manageUrl }: SubscriptionLinks): boolean =>
  html.includes(unsubscribeUrl) || html.includes(manageUrl)

const footerOf = (
  { from, language, footerText }: MessageSource,
  { data }: MessageContact,
  links: SubscriptionLinks,
) => ({
  language: chosenLanguage(data.locale, language),
  sender: from.name || from.email,
  ownText: footerText,
  links,
})

/** RFC 8058: the pair that lets mail clients unsubscribe with one click. */
const oneClickHeaders = (links: SubscriptionLinks) => [
  { name: 'List-Unsubscribe', value: `<${links.unsubscribeUrl}>` },
  { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
]
