import type { TriggerType } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { CREATED_AT, idOf, PROJECT_ID, requiredId, UPDATED_AT } from '../../graphql/common-fields.ts'
import { defineEnum, inputArgument } from '../../graphql/inputs/zod-input.ts'
import { offsetPageOf, orderArguments, pageArguments } from '../../graphql/offset-page.ts'
import { create, get, patch, remove } from '../../graphql/rest-route.ts'
import { getWorkflow, type Workflow } from './find-workflow.ts'
import { listWorkflowFields, type WorkflowField } from './workflow-fields.ts'
import { WorkflowStepRef, WorkflowTransitionRef } from './workflow-graph.graphql.ts'
import { createWorkflowInput, updateWorkflowInput } from './workflows.input.ts'
import {
  createWorkflow,
  deleteWorkflow,
  duplicateWorkflow,
  listWorkflows,
  updateWorkflow,
  type WorkflowSummary,
} from './workflows.ts'

const TriggerTypeRef = defineEnum<TriggerType>('TriggerType', {
  description: 'What starts executions of a workflow.',
  values: {
    EVENT: { description: 'An event of a contact, tracked or of the service itself.' },
    MANUAL: { description: 'Only a request for one contact; such requests are possible with every trigger.' },
    SCHEDULE: { description: 'A time, for all members of a segment.' },
  },
})

const COMMON = {
  name: 'Name for people, at most 100 characters.',
  description: 'Note for people, at most 1,000 characters; null without one.',
  enabled: 'Whether executions can be started; those that are active go on without it.',
  triggerType: 'What starts executions.',
  triggerConfig: 'Settings of the trigger: { eventName }, { cron, timezone, segmentId }, or none.',
  allowReentry:
    'Whether a contact may enter again, one execution at a time; otherwise it enters once and never again.',
} as const

export const WorkflowRef = builder.objectRef<Workflow>('Workflow').implement({
  description: 'A journey of contacts: what starts it, and the steps that each contact passes.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('workflow')),
    projectId: t.exposeID('projectId', PROJECT_ID),
    name: t.exposeString('name', { description: COMMON.name }),
    description: t.exposeString('description', { nullable: true, description: COMMON.description }),
    enabled: t.exposeBoolean('enabled', { description: COMMON.enabled }),
    triggerType: t.expose('triggerType', { type: TriggerTypeRef, description: COMMON.triggerType }),
    triggerConfig: t.field({
      type: 'JSONObject',
      description: COMMON.triggerConfig,
      resolve: ({ triggerConfig }) => triggerConfig,
    }),
    allowReentry: t.exposeBoolean('allowReentry', { description: COMMON.allowReentry }),
    createdAt: t.expose('createdAt', CREATED_AT),
    updatedAt: t.expose('updatedAt', UPDATED_AT),
    steps: t.field({
      type: [WorkflowStepRef],
      description: 'Steps, the oldest first: at most 100.',
      resolve: ({ steps }) => steps,
    }),
    transitions: t.field({
      type: [WorkflowTransitionRef],
      description: 'Ways between the steps.',
      resolve: ({ transitions }) => transitions,
    }),
  }),
})

const WorkflowSummaryRef = builder.objectRef<WorkflowSummary>('WorkflowSummary').implement({
  description: 'A workflow in a list: without its steps, but with their number.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('workflow')),
    projectId: t.exposeID('projectId', PROJECT_ID),
    name: t.exposeString('name', { description: COMMON.name }),
    description: t.exposeString('description', { nullable: true, description: COMMON.description }),
    enabled: t.exposeBoolean('enabled', { description: COMMON.enabled }),
    triggerType: t.expose('triggerType', { type: TriggerTypeRef, description: COMMON.triggerType }),
    triggerConfig: t.field({
      type: 'JSONObject',
      description: COMMON.triggerConfig,
      resolve: ({ triggerConfig }) => triggerConfig,
    }),
    allowReentry: t.exposeBoolean('allowReentry', { description: COMMON.allowReentry }),
    stepCount: t.exposeInt('stepCount', { description: 'Number of steps, the TRIGGER included.' }),
    executionCount: t.exposeInt('executionCount', {
      description: 'Number of executions that are kept, in whatever state.',
    }),
    activeExecutionCount: t.exposeInt('activeExecutionCount', {
      description: 'Number of executions that are RUNNING or WAITING.',
    }),
    createdAt: t.expose('createdAt', CREATED_AT),
    updatedAt: t.expose('updatedAt', UPDATED_AT),
  }),
})

const WorkflowPageRef = offsetPageOf('WorkflowPage', WorkflowSummaryRef)

const WorkflowFieldRef = builder.objectRef<WorkflowField>('WorkflowField').implement({
  description: 'Something that a CONDITION can ask for.',
  fields: (t) => ({
    field: t.exposeString('field', {
      description: 'Name as conditions use it: `data.<key>`, `event.<name>`, or that of a standard field.',
    }),
    type: t.exposeString('type', {
      description:
        'Type of most of its values (string, number, boolean, date, object, array); event for something that happens.',
    }),
    source: t.exposeString('source', {
      description:
        'Where it is from: contact, event (whether it has happened), or context (data of the event that started the execution).',
    }),
  }),
})

const WorkflowFieldListRef = builder.objectRef<WorkflowField[]>('WorkflowFieldList').implement({
  description: 'What a CONDITION can ask for: fields of contacts, data of an event, and events.',
  fields: (t) => ({
    fields: t.field({
      type: [WorkflowFieldRef],
      description: 'Fields of contacts first; at most 1,000 custom ones and 1,000 events.',
      resolve: (fields) => fields,
    }),
    count: t.int({ description: 'Number of fields listed.', resolve: (fields) => fields.length }),
  }),
})

const TAG = 'Workflows'
const ID = requiredId('workflow')

builder.queryField('workflows', (t) =>
  t.field({
    description: 'The workflows of the project, newest first unless told otherwise.',
    type: WorkflowPageRef,
    access: 'secretKey',
    rest: get('/workflows', TAG),
    args: {
      ...pageArguments,
      search: t.arg.string({ description: 'Part of the name or the description, in any case.' }),
      ...orderArguments,
    },
    resolve: (_root, query, ctx) => listWorkflows(ctx, query),
  }),
)

builder.queryField('workflowFields', (t) =>
  t.field({
    description: 'What conditions of workflows can ask for.',
    type: WorkflowFieldListRef,
    access: 'secretKey',
    rest: get('/workflows/fields', TAG),
    args: {
      eventName: t.arg.string({
        description: 'Name of an event, whose data is looked at: executions that it starts can ask for it.',
      }),
    },
    resolve: (_root, { eventName }, ctx) => listWorkflowFields(ctx, eventName ?? null),
  }),
)

builder.queryField('workflow', (t) =>
  t.field({
    description: 'One workflow of the project, with its steps and transitions.',
    type: WorkflowRef,
    access: 'secretKey',
    rest: get('/workflows/:id', TAG, { errors: ['WORKFLOW_NOT_FOUND'] }),
    args: { id: t.arg.id(ID) },
    resolve: (_root, { id }, ctx) => getWorkflow(ctx, id),
  }),
)

builder.mutationField('createWorkflow', (t) =>
  t.field({
    description: 'Creates a workflow with a TRIGGER step; it has the trigger type EVENT and is not enabled.',
    type: WorkflowRef,
    access: 'secretKey',
    rest: create('/workflows', TAG, { errors: ['CONFLICT'] }),
    args: { input: t.arg(inputArgument('CreateWorkflowInput', createWorkflowInput)) },
    resolve: (_root, { input }, ctx) => createWorkflow(ctx, input),
  }),
)

builder.mutationField('updateWorkflow', (t) =>
  t.field({
    description:
      'Changes the given fields of a workflow, enables it or disables it. Its steps are changed one by one.',
    type: WorkflowRef,
    access: 'secretKey',
    rest: patch('/workflows/:id', TAG, { errors: ['WORKFLOW_NOT_FOUND', 'SEGMENT_NOT_FOUND', 'CONFLICT'] }),
    args: {
      id: t.arg.id(ID),
      input: t.arg(inputArgument('UpdateWorkflowInput', updateWorkflowInput, [TriggerTypeRef])),
    },
    resolve: (_root, { id, input }, ctx) => updateWorkflow(ctx, id, input),
  }),
)

builder.mutationField('deleteWorkflow', (t) =>
  t.field({
    description:
      'Deletes a workflow that has no active executions, with those that are over. The messages that it has sent stay.',
    type: 'Boolean',
    access: 'secretKey',
    rest: remove('/workflows/:id', TAG, { errors: ['WORKFLOW_NOT_FOUND', 'CONFLICT'] }),
    args: { id: t.arg.id(ID) },
    resolve: async (_root, { id }, ctx) => {
      await deleteWorkflow(ctx, id)
      return true
    },
  }),
)

builder.mutationField('duplicateWorkflow', (t) =>
  t.field({
    description:
      'Creates a workflow, not enabled, with the trigger and the steps of another one; " (Copy)" is added to its name.',
    type: WorkflowRef,
    access: 'secretKey',
    args: { id: t.arg.id(ID) },
    resolve: (_root, { id }, ctx) => duplicateWorkflow(ctx, id),
  }),
)
