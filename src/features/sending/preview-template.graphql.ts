import { builder } from '../../graphql/builder.ts'
import { inputFromZod } from '../../graphql/inputs/zod-input.ts'
import { previewTemplate, previewTemplateInput, type TemplatePreview } from './preview-template.ts'

const TemplatePreviewType = builder.objectRef<TemplatePreview>('TemplatePreview').implement({
  description: 'A message as it would be sent.',
  fields: (t) => ({
    subject: t.exposeString('subject'),
    html: t.exposeString('html', { description: 'With the footer that the type calls for.' }),
    text: t.exposeString('text', { description: 'The plain-text part.' }),
    usedVariables: t.stringList({
      description: 'The names that subject and body refer to, as they stand there.',
      resolve: ({ variables }) => variables.used,
    }),
    missingVariables: t.stringList({
      description: 'Those that have neither a value nor a fallback.',
      resolve: ({ variables }) => variables.missing,
    }),
  }),
})

builder.queryField('previewTemplate', (t) =>
  t.field({
    description: 'Renders a template, or a subject and a body, as sending would. Nothing is sent or stored.',
    type: TemplatePreviewType,
    access: 'secretKey',
    args: {
      input: t.arg({ type: inputFromZod('PreviewTemplateInput', previewTemplateInput), required: true }),
    },
    resolve: (_root, { input }, ctx) => previewTemplate(ctx, input),
  }),
)
