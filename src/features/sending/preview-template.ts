import type { z } from 'zod'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { newId } from '../../lib/ids.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import type { TemplateVariables } from '../../templating/template-variables.ts'
import { type DataChange, mergeData, readData } from '../contacts/contact-data.rules.ts'
import { findContact } from '../contacts/contacts.ts'
import { compose, composedVariables, type MessageContact, type MessageSource } from '../emails/compose.ts'
import { projectVoice } from '../projects/project-settings.ts'
import { renderText } from '../templates/render.ts'
import { assertSyntax } from '../templates/syntax.ts'
import { getTemplate } from '../templates/templates.ts'
import { assertMessageSize } from './attachments.ts'
import type { previewTemplateInput } from './preview-template.input.ts'

type PreviewInput = z.output<typeof previewTemplateInput>

export type TemplatePreview = { subject: string; html: string; text: string; variables: TemplateVariables }

/** Renders a message as sending would, and stores nothing. */
export async function previewTemplate(ctx: Ctx, input: PreviewInput): Promise<TemplatePreview> {
  const source = await sourceOf(ctx, input)
  await assertSyntax(ctx, 'subject', source.subject)
  await assertSyntax(ctx, 'body', source.body)
  const receiver = await receiverOf(ctx, input)
  const { subject, html } = await compose(ctx, source, receiver)
  assertMessageSize(ctx.config, html, [])
  const variables = await composedVariables(ctx, source, receiver)
  return { subject, html, text: await renderText(ctx, html), variables }
}

/** Who sends what no template says the sender of. */
const SOMEBODY = { email: 'sender@example.com' }

async function sourceOf(ctx: Ctx, input: PreviewInput): Promise<MessageSource> {
  const template = input.templateId === undefined ? null : await getTemplate(ctx, input.templateId)
  return {
    subject: input.subject ?? template?.subject ?? '',
    body: input.body ?? template?.body ?? '',
    type: input.type ?? template?.type ?? 'MARKETING',
    from: template ? { email: template.from, name: template.fromName ?? undefined } : SOMEBODY,
    ...(await projectVoice(ctx)),
  }
}

/** An id that no contact has. */
const NOBODY = '00000000-0000-0000-0000-000000000000'

async function receiverOf(ctx: Ctx, { contactId, data }: PreviewInput): Promise<MessageContact> {
  const contact = contactId === undefined ? null : await findContact(ctx, { id: contactId })
  return {
    projectId: projectIdOf(ctx),
    // The links are real ones of the contact, so that a preview for someone shows exactly what that person gets;
    // opening one changes nothing yet. Shown for nobody they look the same and lead to no one.
    contactId: contact?.id ?? NOBODY,
    emailId: newId(ctx.now()),
    email: contact?.email ?? 'recipient@example.com',
    subscribed: contact?.subscribed ?? true,
    data: dataOf(contact?.data, readData(data)),
  }
}

/** The data that fills a message to the contact with this `data` in the request. */
const dataOf = (stored: unknown, change: DataChange): JsonObject => ({
  ...mergeData(isJsonObject(stored) ? stored : {}, change),
  ...change.values,
})
