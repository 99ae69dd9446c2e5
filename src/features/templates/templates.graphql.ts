import { builder } from '../../graphql/builder.ts'
import {
  CREATED_AT,
  idOf,
  idOfOther,
  MESSAGE_FIELDS,
  PROJECT_ID,
  requiredId,
  UPDATED_AT,
} from '../../graphql/common-fields.ts'
import { CampaignStatusRef, MessageTypeRef } from '../../graphql/enums.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { offsetPageOf, orderArguments, pageArguments } from '../../graphql/offset-page.ts'
import { create, get, patch, remove } from '../../graphql/rest-route.ts'
import { type TemplateUsage, templateUsage } from './template-usage.ts'
import { createTemplateInput, updateTemplateInput } from './templates.input.ts'
import {
  createTemplate,
  deleteTemplate,
  duplicateTemplate,
  getTemplate,
  listTemplates,
  updateTemplate,
} from './templates.ts'

const TemplateRef = builder.prismaObject('Template', {
  description: 'A message that is written once and sent many times.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('template')),
    projectId: t.exposeID('projectId', PROJECT_ID),
    name: t.exposeString('name', MESSAGE_FIELDS.name),
    description: t.exposeString('description', MESSAGE_FIELDS.description),
    subject: t.exposeString('subject', MESSAGE_FIELDS.subject),
    body: t.exposeString('body', MESSAGE_FIELDS.body),
    from: t.exposeString('from', MESSAGE_FIELDS.from),
    fromName: t.exposeString('fromName', MESSAGE_FIELDS.fromName),
    replyTo: t.exposeString('replyTo', MESSAGE_FIELDS.replyTo),
    type: t.expose('type', { type: MessageTypeRef, description: 'Kind of the messages sent from it.' }),
    createdAt: t.expose('createdAt', CREATED_AT),
    updatedAt: t.expose('updatedAt', UPDATED_AT),
  }),
})

builder.queryField('templates', (t) =>
  t.field({
    description: 'The templates of the project, newest first unless told otherwise.',
    type: offsetPageOf('TemplatePage', TemplateRef),
    access: 'secretKey',
    rest: get('/templates', 'Templates'),
    args: {
      ...pageArguments,
      type: t.arg({
        type: MessageTypeRef,
        description: 'Kind of the templates to return; without it all kinds.',
      }),
      search: t.arg.string({ description: 'Part of the name, the description or the subject, in any case.' }),
      ...orderArguments,
    },
    resolve: (_root, query, ctx) => listTemplates(ctx, query),
  }),
)

builder.queryField('template', (t) =>
  t.field({
    description: 'One template of the project.',
    type: TemplateRef,
    access: 'secretKey',
    rest: get('/templates/:id', 'Templates', { errors: ['TEMPLATE_NOT_FOUND'] }),
    args: { id: t.arg.id(requiredId('template')) },
    resolve: (_root, { id }, ctx) => getTemplate(ctx, id),
  }),
)

builder.mutationField('createTemplate', (t) =>
  t.field({
    description: 'Creates a template; its syntax and its sender are checked at once.',
    type: TemplateRef,
    access: 'secretKey',
    rest: create('/templates', 'Templates', { shortErrorFor: ['from'], errors: ['DOMAIN_NOT_VERIFIED'] }),
    args: { input: t.arg(inputArgument('CreateTemplateInput', createTemplateInput, [MessageTypeRef])) },
    resolve: (_root, { input }, ctx) => createTemplate(ctx, input),
  }),
)

builder.mutationField('updateTemplate', (t) =>
  t.field({
    description: 'Changes the given fields of a template. Mail that was accepted before stays as it is.',
    type: TemplateRef,
    access: 'secretKey',
    rest: patch('/templates/:id', 'Templates', { errors: ['TEMPLATE_NOT_FOUND', 'DOMAIN_NOT_VERIFIED'] }),
    args: {
      id: t.arg.id(requiredId('template')),
      input: t.arg(inputArgument('UpdateTemplateInput', updateTemplateInput, [MessageTypeRef])),
    },
    resolve: (_root, { id, input }, ctx) => updateTemplate(ctx, id, input),
  }),
)

builder.mutationField('deleteTemplate', (t) =>
  t.field({
    description: 'Deletes a template that no workflow step uses. Mail that was sent from it stays.',
    type: 'Boolean',
    access: 'secretKey',
    rest: remove('/templates/:id', 'Templates', { errors: ['TEMPLATE_NOT_FOUND', 'CONFLICT'] }),
    args: { id: t.arg.id(requiredId('template')) },
    resolve: async (_root, { id }, ctx) => {
      await deleteTemplate(ctx, id)
      return true
    },
  }),
)

builder.mutationField('duplicateTemplate', (t) =>
  t.field({
    description: 'Creates a template with the content of another one; " (Copy)" is added to its name.',
    type: TemplateRef,
    access: 'secretKey',
    rest: create('/templates/:id/duplicate', 'Templates', {
      errors: ['TEMPLATE_NOT_FOUND', 'VALIDATION_ERROR'],
    }),
    args: { id: t.arg.id(requiredId('template')) },
    resolve: (_root, { id }, ctx) => duplicateTemplate(ctx, id),
  }),
)

const TemplateUsageCampaignRef = builder
  .objectRef<TemplateUsage['campaigns'][number]>('TemplateUsageCampaign')
  .implement({
    description: 'A campaign that uses a template.',
    fields: (t) => ({
      id: t.exposeID('id', idOf('campaign')),
      name: t.exposeString('name', { description: 'Name of the campaign.' }),
      status: t.expose('status', { type: CampaignStatusRef, description: 'State of the campaign.' }),
    }),
  })

const TemplateUsageStepRef = builder
  .objectRef<TemplateUsage['workflowSteps'][number]>('TemplateUsageStep')
  .implement({
    description: 'A workflow step that uses a template.',
    fields: (t) => ({
      id: t.exposeID('id', idOf('step')),
      name: t.exposeString('name', { description: 'Name of the step.' }),
      workflowId: t.exposeID('workflowId', idOfOther('the workflow that the step belongs to')),
    }),
  })

const TemplateUsageRef = builder.objectRef<TemplateUsage>('TemplateUsage').implement({
  description: 'Everything that uses a template.',
  fields: (t) => ({
    campaigns: t.expose('campaigns', {
      type: [TemplateUsageCampaignRef],
      description: 'Campaigns that depend on the template: none, because they hold a copy of what they send.',
    }),
    workflowSteps: t.expose('workflowSteps', {
      type: [TemplateUsageStepRef],
      description: 'Workflow steps that send the template; it cannot be deleted while there are any.',
    }),
    emailsSent: t.exposeInt('emailsSent', {
      description: 'Number of messages from the template that were handed over to the mail provider.',
    }),
  }),
})

builder.queryField('templateUsage', (t) =>
  t.field({
    description: 'Everything that uses a template, and how much mail was sent from it.',
    type: TemplateUsageRef,
    access: 'secretKey',
    rest: get('/templates/:id/usage', 'Templates', { errors: ['TEMPLATE_NOT_FOUND'] }),
    args: { id: t.arg.id(requiredId('template')) },
    resolve: (_root, { id }, ctx) => templateUsage(ctx, id),
  }),
)
