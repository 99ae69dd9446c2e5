import type { StepExecution, WorkflowExecution } from '../../../generated/prisma/client.ts'
import type { ExecutionStatus, StepExecutionStatus } from '../../../generated/prisma/enums.ts'
import { builder } from '../../../graphql/builder.ts'
import { idOf, idOfOther, requiredId, timeWhen } from '../../../graphql/common-fields.ts'
import { defineEnum, inputArgument } from '../../../graphql/inputs/zod-input.ts'
import { offsetPageOf, pageArguments } from '../../../graphql/offset-page.ts'
import { create, get, post, remove } from '../../../graphql/rest-route.ts'
import { startExecutionInput } from './executions.input.ts'
import {
  cancelAllExecutions,
  cancelExecution,
  type Execution,
  getExecution,
  listExecutions,
  retryFailedExecution,
  startExecution,
} from './executions.ts'

export const ExecutionStatusRef = defineEnum<ExecutionStatus>('ExecutionStatus', {
  description: 'State of an execution of a workflow.',
  values: {
    RUNNING: { description: 'An execution that goes on at once.' },
    WAITING: { description: 'An execution that waits for a time, an event or the end of a call.' },
    COMPLETED: { description: 'An execution that has come to the end of its way.' },
    EXITED: { description: 'An execution that an EXIT step has ended.' },
    FAILED: { description: 'An execution with a step that has failed; it can be tried again.' },
    CANCELLED: { description: 'An execution that was cancelled.' },
  },
})

export const StepExecutionStatusRef = defineEnum<StepExecutionStatus>('StepExecutionStatus', {
  description: 'State of a step of an execution.',
  values: {
    PENDING: { description: 'A step whose turn has not come.' },
    SCHEDULED: { description: 'A step that goes on at a time.' },
    WAITING: { description: 'A step that waits for an event, or for the end of a call.' },
    RUNNING: { description: 'A step that is at work.' },
    COMPLETED: { description: 'A step that is done.' },
    SKIPPED: {
      description:
        'A step that did nothing: the contact may not get the message, or the execution was cancelled.',
    },
    FAILED: { description: 'A step that could not be done.' },
  },
})

const StepExecutionRef = builder.objectRef<StepExecution>('StepExecution').implement({
  description: 'What has become of a step of an execution.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('record')),
    stepId: t.exposeID('stepId', idOfOther('the step')),
    status: t.expose('status', { type: StepExecutionStatusRef, description: 'State of the step.' }),
    scheduledFor: t.expose('scheduledFor', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which it goes on, in UTC; null when it does not wait for one.',
    }),
    output: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'What it has come to: the branch, the id of the message or the call, or why it was skipped; null for nothing.',
      resolve: ({ output }) => output,
    }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'Why it has failed; null when it has not.',
    }),
    attempts: t.exposeInt('attempts', { description: 'Number of times that it was tried.' }),
    startedAt: t.expose('startedAt', timeWhen('the execution came to the step')),
    completedAt: t.expose('completedAt', timeWhen('the step was over')),
  }),
})

const DESCRIPTIONS = {
  status: 'State of the execution.',
  exitReason: 'Reason that an EXIT step gives, or why it has failed; null without one.',
  context: 'Variables of this execution: the data of the event that started it, or what the request gave.',
  startedAt: { type: 'DateTime', description: 'Time of its start, in UTC with milliseconds.' },
} as const

const CURRENT = idOfOther('the step that it is at, or came to last', 'when that was deleted since')

const WorkflowExecutionRef = builder.objectRef<WorkflowExecution>('WorkflowExecution').implement({
  description: 'The way of one contact through a workflow.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('execution')),
    workflowId: t.exposeID('workflowId', idOfOther('the workflow')),
    contactId: t.exposeID('contactId', idOfOther('the contact')),
    status: t.expose('status', { type: ExecutionStatusRef, description: DESCRIPTIONS.status }),
    currentStepId: t.exposeID('currentStepId', { nullable: true, ...CURRENT }),
    exitReason: t.exposeString('exitReason', { nullable: true, description: DESCRIPTIONS.exitReason }),
    context: t.field({
      type: 'JSONObject',
      description: DESCRIPTIONS.context,
      resolve: ({ context }) => context,
    }),
    startedAt: t.expose('startedAt', DESCRIPTIONS.startedAt),
    completedAt: t.expose('completedAt', timeWhen('it was over')),
  }),
})

const WorkflowExecutionDetailRef = builder.objectRef<Execution>('WorkflowExecutionDetail').implement({
  description: 'The way of one contact through a workflow, step by step.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('execution')),
    workflowId: t.exposeID('workflowId', idOfOther('the workflow')),
    contactId: t.exposeID('contactId', idOfOther('the contact')),
    status: t.expose('status', { type: ExecutionStatusRef, description: DESCRIPTIONS.status }),
    currentStepId: t.exposeID('currentStepId', { nullable: true, ...CURRENT }),
    exitReason: t.exposeString('exitReason', { nullable: true, description: DESCRIPTIONS.exitReason }),
    context: t.field({
      type: 'JSONObject',
      description: DESCRIPTIONS.context,
      resolve: ({ context }) => context,
    }),
    startedAt: t.expose('startedAt', DESCRIPTIONS.startedAt),
    completedAt: t.expose('completedAt', timeWhen('it was over')),
    stepExecutions: t.field({
      type: [StepExecutionRef],
      description: 'Steps that it has come to, in their order.',
      resolve: ({ stepExecutions }) => stepExecutions,
    }),
  }),
})

const WorkflowExecutionPageRef = offsetPageOf('WorkflowExecutionPage', WorkflowExecutionRef)

const TAG = 'Workflows'
const ID = requiredId('workflow')
const EXECUTION_ID = requiredId('execution')

builder.mutationField('startWorkflowExecution', (t) =>
  t.field({
    description:
      'Starts an execution of an enabled workflow for a contact, whatever its trigger is. A contact that may not enter is 409.',
    type: WorkflowExecutionDetailRef,
    access: 'secretKey',
    rest: create('/workflows/:id/executions', TAG, {
      errors: ['WORKFLOW_NOT_FOUND', 'CONTACT_NOT_FOUND', 'CONFLICT'],
    }),
    args: { id: t.arg.id(ID), input: t.arg(inputArgument('StartExecutionInput', startExecutionInput)) },
    resolve: (_root, { id, input }, ctx) => startExecution(ctx, id, input),
  }),
)

builder.queryField('workflowExecutions', (t) =>
  t.field({
    description: 'The executions of a workflow, the newest first.',
    type: WorkflowExecutionPageRef,
    access: 'secretKey',
    rest: get('/workflows/:id/executions', TAG, { errors: ['WORKFLOW_NOT_FOUND'] }),
    args: {
      id: t.arg.id(ID),
      ...pageArguments,
      status: t.arg({
        type: ExecutionStatusRef,
        description: 'State of the executions to return; without it all.',
      }),
    },
    resolve: (_root, { id, ...query }, ctx) => listExecutions(ctx, id, query),
  }),
)

builder.queryField('workflowExecution', (t) =>
  t.field({
    description: 'One execution of a workflow, with what has become of its steps.',
    type: WorkflowExecutionDetailRef,
    access: 'secretKey',
    rest: get('/workflows/:id/executions/:executionId', TAG, { errors: ['WORKFLOW_NOT_FOUND'] }),
    args: { id: t.arg.id(ID), executionId: t.arg.id(EXECUTION_ID) },
    resolve: (_root, { id, executionId }, ctx) => getExecution(ctx, { workflowId: id, executionId }),
  }),
)

builder.mutationField('cancelWorkflowExecution', (t) =>
  t.field({
    description: 'Stops an execution that is RUNNING or WAITING. Messages that it has sent stay.',
    type: 'Boolean',
    access: 'secretKey',
    rest: remove('/workflows/:id/executions/:executionId', TAG, {
      errors: ['WORKFLOW_NOT_FOUND', 'CONFLICT'],
    }),
    args: { id: t.arg.id(ID), executionId: t.arg.id(EXECUTION_ID) },
    resolve: async (_root, { id, executionId }, ctx) => {
      await cancelExecution(ctx, { workflowId: id, executionId })
      return true
    },
  }),
)

const CancelledExecutionsRef = builder.objectRef<number>('CancelledExecutions').implement({
  description: 'Executions that were cancelled.',
  fields: (t) => ({
    cancelled: t.int({ description: 'Number of executions.', resolve: (cancelled) => cancelled }),
  }),
})

builder.mutationField('cancelAllWorkflowExecutions', (t) =>
  t.field({
    description: 'Stops every execution of a workflow that is RUNNING or WAITING.',
    type: CancelledExecutionsRef,
    access: 'secretKey',
    rest: post('/workflows/:id/executions/cancel-all', TAG, { errors: ['WORKFLOW_NOT_FOUND'] }),
    args: { id: t.arg.id(ID) },
    resolve: (_root, { id }, ctx) => cancelAllExecutions(ctx, id),
  }),
)

builder.mutationField('retryWorkflowExecution', (t) =>
  t.field({
    description: 'Has an execution that has FAILED try the step at which it is again.',
    type: WorkflowExecutionDetailRef,
    access: 'secretKey',
    args: { id: t.arg.id(ID), executionId: t.arg.id(EXECUTION_ID) },
    resolve: (_root, { id, executionId }, ctx) => retryFailedExecution(ctx, { workflowId: id, executionId }),
  }),
)
