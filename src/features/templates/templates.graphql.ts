import { builder } from '../../graphql/builder.ts'
import { MessageType } from '../../graphql/enums.ts'
import { create, get } from '../../graphql/rest-route.ts'
import { inputFromZod } from '../../graphql/zod-input.ts'
import { createTemplate, createTemplateInput, getTemplate } from './templates.ts'

const Template = builder.prismaObject('Template', {
  description: 'A message to be sent more than once.',
  fields: (t) => ({
    id: t.exposeID('id'),
    projectId: t.exposeID('projectId'),
    name: t.exposeString('name'),
    description: t.exposeString('description', { nullable: true }),
    subject: t.exposeString('subject'),
    body: t.exposeString('body'),
    from: t.exposeString('from'),
    fromName: t.exposeString('fromName', { nullable: true }),
    replyTo: t.exposeString('replyTo', { nullable: true }),
    type: t.expose('type', { type: MessageType }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
})

builder.queryField('template', (t) =>
  t.field({
    description: 'One template of the project.',
    type: Template,
    access: 'secretKey',
    rest: get('/templates/:id', 'Templates', { errors: ['TEMPLATE_NOT_FOUND'] }),
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, ctx) => getTemplate(ctx, id),
  }),
)

builder.mutationField('createTemplate', (t) =>
  t.field({
    description: 'Makes a template; its syntax and its sender are checked now.',
    type: Template,
    access: 'secretKey',
    rest: create('/templates', 'Templates', { shortErrorFor: ['from'], errors: ['DOMAIN_NOT_VERIFIED'] }),
    args: {
      input: t.arg({ type: inputFromZod('CreateTemplateInput', createTemplateInput), required: true }),
    },
    resolve: (_root, { input }, ctx) => createTemplate(ctx, input),
  }),
)
