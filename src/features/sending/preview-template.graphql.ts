import { builder } from '../../graphql/builder.ts'
import { MessageTypeRef } from '../../graphql/enums.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { previewTemplateInput } from './preview-template.input.ts'
import { previewTemplate, type TemplatePreview } from './preview-template.ts'

const TemplatePreviewRef = builder.objectRef<TemplatePreview>('TemplatePreview').implement({
  description: 'A message as it would be sent to one contact.',
  fields: (t) => ({
    subject: t.exposeString('subject', { description: 'Subject with its placeholders filled.' }),
    html: t.exposeString('html', {
      description: 'HTML with its placeholders filled, and with the footer that the type calls for.',
    }),
    text: t.exposeString('text', { description: 'Plain-text part of the message, derived from the HTML.' }),
    usedVariables: t.stringList({
      description:
        'Names that subject and body refer to, as they stand there, in the order of their first use.',
      resolve: ({ variables }) => variables.used,
    }),
    missingVariables: t.stringList({
      description: 'Names that have neither a value nor a fallback.',
      resolve: ({ variables }) => variables.missing,
    }),
  }),
})

builder.queryField('previewTemplate', (t) =>
  t.field({
    description: 'Renders a template, or a subject and a body, as sending would. Nothing is sent or stored.',
    type: TemplatePreviewRef,
    access: 'secretKey',
    args: { input: t.arg(inputArgument('PreviewTemplateInput', previewTemplateInput, [MessageTypeRef])) },
    resolve: (_root, { input }, ctx) => previewTemplate(ctx, input),
  }),
)
