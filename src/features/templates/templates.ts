import { z } from 'zod'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { notFound } from '../../errors.ts'
import type { Template } from '../../generated/prisma/client.ts'
import { withAsciiDomain } from '../../lib/email-address.ts'
import { email, line, optional } from '../../lib/fields.ts'
import { isId, newId } from '../../lib/ids.ts'
import { MAX_SUBJECT } from '../../mail/headers.rules.ts'
import { assertSenderVerified } from '../domains/sender.ts'
import { assertSyntax } from './syntax.ts'

const MAX_BODY = 1_000_000

export const createTemplateInput = z
  .object({
    name: line(255).min(1),
    subject: line(MAX_SUBJECT).min(1).describe('{{variable}} placeholders are filled when mail is sent.'),
    body: z.string().min(1).max(MAX_BODY).describe('HTML with {{variable}} placeholders.'),
    from: email.describe('The sender; its domain must be verified.'),
    description: optional(z.string().max(1_000)).describe('An internal note, never sent.'),
    fromName: optional(line(255)),
    replyTo: optional(email),
    type: optional(z.enum(['TRANSACTIONAL', 'MARKETING', 'HEADLESS']).meta({ id: 'MessageType' })).describe(
      'MARKETING by default.',
    ),
  })
  .meta({
    description: 'A message to be sent more than once.',
    examples: [
      {
        name: 'Welcome',
        subject: 'Welcome, {{name}}',
        body: '<p>Hello {{name}}, good to have you here.</p>',
        from: 'hello@mail.example.com',
        type: 'TRANSACTIONAL',
      },
    ],
  })

export async function createTemplate(
  ctx: Ctx,
  input: z.output<typeof createTemplateInput>,
): Promise<Template> {
  assertSyntax('subject', input.subject)
  assertSyntax('body', input.body)
  await assertSenderVerified(ctx, input.from)
  const now = ctx.now()
  return ctx.db.template.create({
    data: {
      projectId: projectIdOf(ctx),
      id: newId(now),
      name: input.name,
      subject: input.subject,
      body: input.body,
      from: withAsciiDomain(input.from),
      description: input.description ?? null,
      fromName: input.fromName ?? null,
      replyTo: input.replyTo ?? null,
      type: input.type ?? 'MARKETING',
      createdAt: now,
      updatedAt: now,
    },
  })
}

export async function getTemplate(ctx: Ctx, id: string): Promise<Template> {
  const projectId = projectIdOf(ctx)
  if (!isId(id)) throw notFound('The template')
  const template = await ctx.db.template.findUnique({ where: { projectId_id: { projectId, id } } })
  if (!template) throw notFound('The template', 'TEMPLATE_NOT_FOUND')
  return template
}
