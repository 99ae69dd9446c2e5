import { builder } from '../../graphql/builder.ts'
import { idOfOther, requiredId } from '../../graphql/common-fields.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { create, patch, remove } from '../../graphql/rest-route.ts'
import type { StepCounts } from './counts/counts.sql.ts'
import { countSteps, watchSteps } from './counts/step-counts.ts'
import { WorkflowStepRef, WorkflowStepTypeRef, WorkflowTransitionRef } from './workflow-graph.graphql.ts'
import { validateWorkflow, type WorkflowProblem } from './workflow-problems.ts'
import {
  createStep,
  createTransition,
  deleteStep,
  deleteTransition,
  insertStep,
  updateStep,
} from './workflow-steps.ts'
import { WorkflowRef } from './workflows.graphql.ts'
import {
  createStepInput,
  createTransitionInput,
  insertStepInput,
  updateStepInput,
} from './workflows.input.ts'

const TAG = 'Workflows'
const ID = requiredId('workflow')
const STEP_ID = requiredId('step')
const GRAPH_ERRORS = ['WORKFLOW_NOT_FOUND', 'CONFLICT'] as const
const STEP_ERRORS = ['WORKFLOW_NOT_FOUND', 'TEMPLATE_NOT_FOUND', 'CONFLICT'] as const

builder.mutationField('createWorkflowStep', (t) =>
  t.field({
    description:
      'Adds a step to a workflow that has no active executions. Its settings are checked at once; transitions connect it.',
    type: WorkflowStepRef,
    access: 'secretKey',
    rest: create('/workflows/:id/steps', TAG, { errors: STEP_ERRORS }),
    args: {
      id: t.arg.id(ID),
      input: t.arg(inputArgument('CreateWorkflowStepInput', createStepInput, [WorkflowStepTypeRef])),
    },
    resolve: (_root, { id, input }, ctx) => createStep(ctx, id, input),
  }),
)

builder.mutationField('updateWorkflowStep', (t) =>
  t.field({
    description:
      'Changes the given fields of a step. Executions that wait at it go on to wait as they do; others find it as it is then.',
    type: WorkflowStepRef,
    access: 'secretKey',
    rest: patch('/workflows/:id/steps/:stepId', TAG, { errors: STEP_ERRORS }),
    args: {
      id: t.arg.id(ID),
      stepId: t.arg.id(STEP_ID),
      input: t.arg(inputArgument('UpdateWorkflowStepInput', updateStepInput)),
    },
    resolve: (_root, { id, stepId, input }, ctx) => updateStep(ctx, { workflowId: id, stepId }, input),
  }),
)

builder.mutationField('deleteWorkflowStep', (t) =>
  t.field({
    description: 'Deletes a step, with its transitions, of a workflow that has no active executions.',
    type: 'Boolean',
    access: 'secretKey',
    rest: remove('/workflows/:id/steps/:stepId', TAG, {
      errors: ['BAD_REQUEST', 'VALIDATION_ERROR', ...GRAPH_ERRORS],
    }),
    args: {
      id: t.arg.id(ID),
      stepId: t.arg.id(STEP_ID),
      splice: t.arg.boolean({
        defaultValue: false,
        description:
          'Whether the transitions that lead to the step lead to its successor then; 400 when it leads to several steps.',
      }),
    },
    resolve: async (_root, { id, stepId, splice }, ctx) => {
      await deleteStep(ctx, { workflowId: id, stepId, splice: splice === true })
      return true
    },
  }),
)

builder.mutationField('createWorkflowTransition', (t) =>
  t.field({
    description:
      'Connects two steps of a workflow that has no active executions. A step has one transition, or one for each of its branches; none leads back.',
    type: WorkflowTransitionRef,
    access: 'secretKey',
    rest: create('/workflows/:id/transitions', TAG, { errors: GRAPH_ERRORS }),
    args: {
      id: t.arg.id(ID),
      input: t.arg(inputArgument('CreateWorkflowTransitionInput', createTransitionInput)),
    },
    resolve: (_root, { id, input }, ctx) => createTransition(ctx, id, input),
  }),
)

builder.mutationField('deleteWorkflowTransition', (t) =>
  t.field({
    description: 'Deletes a transition of a workflow that has no active executions.',
    type: 'Boolean',
    access: 'secretKey',
    rest: remove('/workflows/:id/transitions/:transitionId', TAG, { errors: GRAPH_ERRORS }),
    args: { id: t.arg.id(ID), transitionId: t.arg.id(requiredId('transition')) },
    resolve: async (_root, { id, transitionId }, ctx) => {
      await deleteTransition(ctx, { workflowId: id, transitionId })
      return true
    },
  }),
)

builder.mutationField('insertStep', (t) =>
  t.field({
    description: 'Puts a step between two others, in one commit. A CONDITION goes on by its branch yes.',
    type: WorkflowRef,
    access: 'secretKey',
    args: {
      id: t.arg.id(ID),
      input: t.arg(inputArgument('InsertStepInput', insertStepInput, [WorkflowStepTypeRef])),
    },
    resolve: (_root, { id, input }, ctx) => insertStep(ctx, id, input),
  }),
)

const WorkflowProblemSeverityRef = builder.enumType('WorkflowProblemSeverity', {
  description: 'Whether a problem keeps a workflow from being enabled.',
  values: {
    ERROR: { description: 'The workflow cannot be enabled.' },
    WARNING: { description: 'The workflow can be enabled; it may not do what is meant.' },
  } as const,
})

const WorkflowProblemRef = builder.objectRef<WorkflowProblem>('WorkflowProblem').implement({
  description: 'Something that is wrong with a workflow, or looks as if it were.',
  fields: (t) => ({
    severity: t.expose('severity', { type: WorkflowProblemSeverityRef, description: 'How bad it is.' }),
    stepId: t.exposeID('stepId', {
      nullable: true,
      ...idOfOther('the step', 'when it is about the workflow'),
    }),
    field: t.exposeString('field', { description: 'Dotted path of the field that it is about.' }),
    code: t.exposeString('code', { description: 'Kind of the problem, for programs.' }),
    message: t.exposeString('message', { description: 'Explanation for people.' }),
  }),
})

builder.queryField('validateWorkflow', (t) =>
  t.field({
    description: 'Everything that is wrong with a workflow, at once, before it is enabled.',
    type: [WorkflowProblemRef],
    access: 'secretKey',
    args: { id: t.arg.id(ID) },
    resolve: (_root, { id }, ctx) => validateWorkflow(ctx, id),
  }),
)

const WorkflowStepCountsRef = builder.objectRef<StepCounts>('WorkflowStepCounts').implement({
  description: 'What has become of the executions that came to a step, as far as they are kept.',
  fields: (t) => ({
    stepId: t.exposeID('stepId', idOfOther('the step')),
    waiting: t.exposeInt('waiting', { description: 'Number of executions that wait at it.' }),
    completed: t.exposeInt('completed', { description: 'Number of executions that it is done for.' }),
    skipped: t.exposeInt('skipped', { description: 'Number of executions that went on without it.' }),
    failed: t.exposeInt('failed', { description: 'Number of executions that have failed at it.' }),
  }),
})

builder.queryField('workflowStepCounts', (t) =>
  t.field({
    description: 'For each step of a workflow how many executions have come to it, and what became of them.',
    type: [WorkflowStepCountsRef],
    access: 'secretKey',
    args: { id: t.arg.id(ID) },
    resolve: (_root, { id }, ctx) => countSteps(ctx, id),
  }),
)

builder.subscriptionField('workflowProgress', (t) =>
  t.field({
    description:
      'For each step of a workflow what became of the executions that came to it, and then again whenever that has changed.',
    type: [WorkflowStepCountsRef],
    access: 'secretKey',
    args: { id: t.arg.id(ID) },
    subscribe: (_root, { id }, ctx) => watchSteps(ctx, id),
    resolve: (counts) => counts,
  }),
)
