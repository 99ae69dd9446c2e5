import { builder } from '../../graphql/builder.ts'
import { CampaignStatus, MessageType } from '../../graphql/enums.ts'
import { inputFromZod } from '../../graphql/inputs/zod-input.ts'
import { offsetPageOf, orderArguments, pageArguments } from '../../graphql/offset-page.ts'
import { create, get, patch, remove } from '../../graphql/rest-route.ts'
import { type TemplateUsage, templateUsage } from './template-usage.ts'
import { createTemplateInput, updateTemplateInput } from './templates.rules.ts'
import {
  createTemplate,
  deleteTemplate,
  duplicateTemplate,
  getTemplate,
  listTemplates,
  updateTemplate,
} from './templates.ts'

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

builder.queryField('templates', (t) =>
  t.field({
    description: 'The templates of the project, newest first unless told otherwise.',
    type: offsetPageOf('TemplatePage', Template),
    access: 'secretKey',
    rest: get('/templates', 'Templates'),
    args: {
      ...pageArguments,
      type: t.arg({ type: MessageType }),
      search: t.arg.string({ description: 'Looked for in name, description and subject, in any case.' }),
      ...orderArguments,
    },
    resolve: (_root, query, ctx) => listTemplates(ctx, query),
  }),
)

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

builder.mutationField('updateTemplate', (t) =>
  t.field({
    description: 'Changes the given fields of a template. Mail that was accepted before stays as it is.',
    type: Template,
    access: 'secretKey',
    rest: patch('/templates/:id', 'Templates', { errors: ['TEMPLATE_NOT_FOUND', 'DOMAIN_NOT_VERIFIED'] }),
    args: {
      id: t.arg.id({ required: true }),
      input: t.arg({ type: inputFromZod('UpdateTemplateInput', updateTemplateInput), required: true }),
    },
    resolve: (_root, { id, input }, ctx) => updateTemplate(ctx, id, input),
  }),
)

builder.mutationField('deleteTemplate', (t) =>
  t.field({
    description: 'Deletes a template that no workflow step uses. Mail that was made from it stays.',
    type: 'Boolean',
    access: 'secretKey',
    rest: remove('/templates/:id', 'Templates', { errors: ['TEMPLATE_NOT_FOUND', 'CONFLICT'] }),
    args: { id: t.arg.id({ required: true }) },
    resolve: async (_root, { id }, ctx) => {
      await deleteTemplate(ctx, id)
      return true
    },
  }),
)

builder.mutationField('duplicateTemplate', (t) =>
  t.field({
    description: 'Makes a template with the content of another one; " (Copy)" is added to its name.',
    type: Template,
    access: 'secretKey',
    rest: create('/templates/:id/duplicate', 'Templates', {
      errors: ['TEMPLATE_NOT_FOUND', 'VALIDATION_ERROR'],
    }),
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, ctx) => duplicateTemplate(ctx, id),
  }),
)

const UsingCampaign = builder
  .objectRef<TemplateUsage['campaigns'][number]>('TemplateUsageCampaign')
  .implement({
    description: 'A campaign that uses a template.',
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      status: t.expose('status', { type: CampaignStatus }),
    }),
  })

const UsingStep = builder.objectRef<TemplateUsage['workflowSteps'][number]>('TemplateUsageStep').implement({
  description: 'A workflow step that uses a template.',
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    workflowId: t.exposeID('workflowId'),
  }),
})

const TemplateUsageType = builder.objectRef<TemplateUsage>('TemplateUsage').implement({
  description: 'Where a template is used.',
  fields: (t) => ({
    campaigns: t.expose('campaigns', {
      type: [UsingCampaign],
      description: 'Campaigns hold a copy of what they send, so none of them depends on a template.',
    }),
    workflowSteps: t.expose('workflowSteps', { type: [UsingStep] }),
    emailsSent: t.exposeInt('emailsSent', {
      description: 'Messages made from it that were handed over to the mail provider.',
    }),
  }),
})

builder.queryField('templateUsage', (t) =>
  t.field({
    description: 'Where a template is used, and how much mail was made from it.',
    type: TemplateUsageType,
    access: 'secretKey',
    rest: get('/templates/:id/usage', 'Templates', { errors: ['TEMPLATE_NOT_FOUND'] }),
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, ctx) => templateUsage(ctx, id),
  }),
)
