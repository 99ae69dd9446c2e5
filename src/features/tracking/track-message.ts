import type { Ctx } from '../../ctx.ts'
import type { MessageType, Tracking } from '../../generated/prisma/enums.ts'
import { beforeEndOfBody } from '../../lib/text/html.ts'
import { LINKS, type TrackedTemplate } from '../../templating/tracked-links.ts'
import { trackedBody } from '../templates/render.ts'
import { clickUrls, openPixel } from './tracked-links.ts'

/** How a message is tracked for one recipient: what is rendered in place of its body, and what is added to it. */
export type MessageTracking = {
  body: string
  variables: Record<string, string[]>
  /** Adds what tells that the message is opened. */
  withPixel: (html: string) => string
}

/** Whether messages of the type are tracked in a project with this setting. */
export const isTracked = (tracking: Tracking, type: MessageType): boolean =>
  tracking === 'ENABLED' || (tracking === 'MARKETING_ONLY' && type !== 'TRANSACTIONAL')

/** The template that is rendered in place of a body, and where its links lead. Throws as `render` does. */
export const trackedTemplate = (ctx: Ctx, body: string): Promise<TrackedTemplate> =>
  trackedBody(ctx, body, ctx.config.apiUrl)

/** `body` is a template. Throws as `render` does. */
export async function trackMessage(
  ctx: Ctx,
  body: string,
  message: { projectId: string; emailId: string },
): Promise<MessageTracking> {
  const tracked = await trackedTemplate(ctx, body)
  const mail = { ...message, links: tracked.links.length }
  return {
    body: tracked.body,
    variables: tracked.links.length > 0 ? { [LINKS]: clickUrls(ctx.config, mail, tracked.links) } : {},
    withPixel: (html) => beforeEndOfBody(html, openPixel(ctx.config, mail)),
  }
}
