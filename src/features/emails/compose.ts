import type { Config } from '../../config.ts'
import { tooLarge } from '../../errors.ts'
import type { MessageType } from '../../generated/prisma/enums.ts'
import { withLineBreaks } from '../../lib/html.ts'
import type { JsonObject } from '../../lib/json.ts'
import {
  type RenderBatch,
  RenderedTooLarge,
  renderHtml,
  renderSubject,
  type View,
  viewOf,
} from '../../mail/render.ts'
import { type TemplateVariables, variablesOf } from '../../mail/template-variables.ts'
import { type SubscriptionLinks, subscriptionLinks } from '../contacts/subscription-links.ts'

/** What a message is made from, the same for all of its recipients. */
export type MessageSource = { subject: string; body: string; type: MessageType }

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
  /** Headers that the type of the message calls for. */
  headers: { name: string; value: string }[]
}

export type ComposeOptions = {
  /** More variables, such as the event that caused the message. */
  extra?: JsonObject
  /** Shared by the messages that are made together. */
  batch?: RenderBatch
}

/** Renders a message for one contact. Throws PAYLOAD_TOO_LARGE when its loops come to more than a message may. */
export function compose(
  config: Config,
  source: MessageSource,
  contact: MessageContact,
  { extra = {}, batch }: ComposeOptions = {},
): Composed {
  const links = linksOf(config, source, contact)
  const { subject, html } = rendered(source, viewOf(variablesFor(contact, links, extra), batch))
  const needsFooter = source.type === 'MARKETING' && !holdsLink(html, links)
  return {
    subject,
    html: needsFooter ? withFooter(html, links) : html,
    headers: source.type === 'TRANSACTIONAL' ? [] : oneClickHeaders(links),
  }
}

/**
 * The variables that a message refers to, and those of them that would be empty for the contact. Throws
 * PAYLOAD_TOO_LARGE.
 */
export function composedVariables(
  config: Config,
  source: MessageSource,
  contact: MessageContact,
): TemplateVariables {
  const view = viewOf(variablesFor(contact, linksOf(config, source, contact), {}))
  return withinLimit(() => variablesOf([source.subject, source.body], view))
}

const linksOf = (config: Config, source: MessageSource, contact: MessageContact): SubscriptionLinks =>
  usesLinks(source) ? subscriptionLinks(config, contact) : NO_LINKS

const NO_LINKS: SubscriptionLinks = { unsubscribeUrl: '', subscribeUrl: '', manageUrl: '' }

/** Signing links costs more than rendering a short message, so it is left out where nothing can show them. */
const usesLinks = ({ type, subject, body }: MessageSource): boolean =>
  type !== 'TRANSACTIONAL' || subject.includes('Url') || body.includes('Url')

const rendered = (source: MessageSource, view: View) =>
  withinLimit(() => ({
    subject: renderSubject(source.subject, view),
    html: withLineBreaks(renderHtml(source.body, view)),
  }))

function withinLimit<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof RenderedTooLarge)) throw error
    throw tooLarge('The message becomes too large when its variables are filled in.')
  }
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

function withFooter(html: string, links: SubscriptionLinks): string {
  const footer = `<p style="margin-top:32px;font-size:12px;color:#666666;text-align:center">You receive this email because you subscribed. <a href="${links.unsubscribeUrl}" style="color:#666666">Unsubscribe</a> or <a href="${links.manageUrl}" style="color:#666666">manage your preferences</a>.</p>`
  const end = html.search(/<\/body\s*>/i)
  return end === -1 ? `${html}\n${footer}` : `${html.slice(0, end)}${footer}\n${html.slice(end)}`
}

/** RFC 8058: the pair that lets mail clients unsubscribe with one click. */
const oneClickHeaders = (links: SubscriptionLinks) => [
  { name: 'List-Unsubscribe', value: `<${links.unsubscribeUrl}>` },
  { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
]
