import { builder } from '../../../graphql/builder.ts'
import { idOfOther, requiredId } from '../../../graphql/common-fields.ts'
import { defineEnum } from '../../../graphql/inputs/zod-input.ts'
import { ENTRY_REASONS, type EntryExplanation, type EntryReason, explainEntry } from './explain-entry.ts'
import {
  EXECUTION_SITUATIONS,
  type ExecutionExplanation,
  type ExecutionSituation,
  explainExecution,
} from './explain-execution.ts'

const ExecutionSituationRef = defineEnum<ExecutionSituation>('ExecutionSituation', {
  description: 'Why an execution is where it is.',
  values: EXECUTION_SITUATIONS,
})

const EntryReasonRef = defineEnum<EntryReason>('EntryReason', {
  description: 'Why a contact did or did not enter a workflow.',
  values: ENTRY_REASONS,
})

const ExecutionExplanationRef = builder.objectRef<ExecutionExplanation>('ExecutionExplanation').implement({
  description: 'Why an execution is where it is, what it waits for, and what would move it.',
  fields: (t) => ({
    code: t.expose('code', { type: ExecutionSituationRef, description: 'Kind of the reason, for programs.' }),
    text: t.exposeString('text', { description: 'Explanation for people.' }),
    stepId: t.exposeID('stepId', {
      nullable: true,
      ...idOfOther('the step that it is at', 'when that was deleted'),
    }),
    stepName: t.exposeString('stepName', {
      nullable: true,
      description: 'Name of that step; null when it was deleted.',
    }),
    since: t.expose('since', {
      type: 'DateTime',
      nullable: true,
      description: 'Time since which it is there, in UTC.',
    }),
    until: t.expose('until', {
      type: 'DateTime',
      nullable: true,
      description: 'Time until which it waits, or of the next try of the call, in UTC; null for none.',
    }),
    event: t.exposeString('event', {
      nullable: true,
      description: 'Name of the event that it waits for; null for none.',
    }),
    callId: t.exposeID('callId', { nullable: true, ...idOfOther('the call that it waits for', 'for none') }),
    wokenBy: t.exposeStringList('wokenBy', {
      description: 'What would move it, in words; empty for nothing.',
    }),
  }),
})

const EntryExplanationRef = builder.objectRef<EntryExplanation>('EntryExplanation').implement({
  description: 'Why a contact did or did not enter a workflow, and what would let it enter.',
  fields: (t) => ({
    code: t.expose('code', { type: EntryReasonRef, description: 'Kind of the reason, for programs.' }),
    text: t.exposeString('text', { description: 'Explanation for people.' }),
    hasEntered: t.exposeBoolean('hasEntered', { description: 'Whether it has ever entered.' }),
    mayEnter: t.exposeBoolean('mayEnter', {
      description: 'Whether a request could start an execution at present.',
    }),
    enteredAt: t.expose('enteredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the last entry that is known, in UTC; null without one.',
    }),
    executionId: t.exposeID('executionId', {
      nullable: true,
      ...idOfOther('its last execution', 'when none is kept'),
    }),
    lastEventAt: t.expose('lastEventAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of its last event of the trigger, in UTC; null when that is not the reason.',
    }),
    nextRunAt: t.expose('nextRunAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Next time of the schedule, in UTC; null when that is not the reason.',
    }),
  }),
})

const WORKFLOW_ID = requiredId('workflow')

builder.queryField('explainExecution', (t) =>
  t.field({
    description: 'Why an execution is where it is: what it waits for, until when, and what would move it.',
    type: ExecutionExplanationRef,
    access: 'secretKey',
    args: { workflowId: t.arg.id(WORKFLOW_ID), executionId: t.arg.id(requiredId('execution')) },
    resolve: (_root, key, ctx) => explainExecution(ctx, key),
  }),
)

builder.queryField('explainEntry', (t) =>
  t.field({
    description: 'Why a contact did or did not enter a workflow: the first thing that keeps it out.',
    type: EntryExplanationRef,
    access: 'secretKey',
    args: { workflowId: t.arg.id(WORKFLOW_ID), contactId: t.arg.id(requiredId('contact')) },
    resolve: (_root, { workflowId, contactId }, ctx) => explainEntry(ctx, workflowId, contactId),
  }),
)
