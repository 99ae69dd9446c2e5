import type { Config } from '../../config.ts'
import type { MessageType } from '../../generated/prisma/enums.ts'
import type { JsonObject } from '../../lib/json.ts'
import { renderHtml, renderSubject, viewOf } from '../../mail/render.ts'
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

/** Renders a message for one contact; `extra` holds more variables, such as the event that caused it. */
export function compose(
  config: Config,
  source: MessageSource,
  contact: MessageContact,
  extra: JsonObject = {},
): Composed {
  const links = subscriptionLinks(config, contact)
  const view = viewOf(variablesOf(contact, links, extra))
  const html = renderHtml(source.body, view)
  return {
    subject: renderSubject(source.subject, view),
    html: needsFooter(source) ? withFooter(html, links) : html,
    headers: source.type === 'TRANSACTIONAL' ? [] : oneClickHeaders(links),
  }
}

function variablesOf(contact: MessageContact, links: SubscriptionLinks, extra: JsonObject): JsonObject {
  const { contactId, email, subscribed, data, name } = contact
  return {
    ...(name !== undefined && { name }),
    ...data,
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

/** A body that has such a link of its own needs no footer. */
const OWN_LINK = /\{\{\{?\s*&?\s*(unsubscribeUrl|manageUrl)\b/

const needsFooter = (source: MessageSource): boolean =>
  source.type === 'MARKETING' && !OWN_LINK.test(source.body)

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
