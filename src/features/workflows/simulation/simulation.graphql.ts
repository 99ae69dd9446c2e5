import { builder } from '../../../graphql/builder.ts'
import { idOfOther, requiredId } from '../../../graphql/common-fields.ts'
import { inputArgument } from '../../../graphql/inputs/zod-input.ts'
import type { WorkflowCall } from '../../webhooks/workflow-calls.ts'
import { ExecutionStatusRef, StepExecutionStatusRef } from '../executions/executions.graphql.ts'
import type { ContactUpdate, WorkflowMail } from '../steps/define-step.ts'
import { WorkflowStepTypeRef } from '../workflow-graph.graphql.ts'
import type { SimulatedStep, Simulation } from './journey.ts'
import { simulateWorkflow } from './simulate.ts'
import { simulateWorkflowInput } from './simulation.input.ts'

const SimulatedMailRef = builder.objectRef<WorkflowMail>('SimulatedMail').implement({
  description: 'A message that a step would send.',
  fields: (t) => ({
    to: t.exposeString('to', { description: 'Address of the receiver.' }),
    from: t.string({ description: 'Address of the sender.', resolve: ({ template }) => template.from }),
    subject: t.string({ description: 'Subject, rendered.', resolve: ({ composed }) => composed.subject }),
    templateId: t.id({ ...idOfOther('the template'), resolve: ({ template }) => template.id }),
  }),
})

const SimulatedCallRef = builder.objectRef<WorkflowCall>('SimulatedCall').implement({
  description: 'A call that a WEBHOOK step would make; it is taken to succeed.',
  fields: (t) => ({
    method: t.exposeString('method', { description: 'HTTP method.' }),
    url: t.exposeString('url', { description: 'Address, rendered.' }),
    headers: t.field({
      type: 'JSONObject',
      description:
        'Headers of the step by their names in lower case, rendered; those of the service are added.',
      resolve: ({ headers }) => headers,
    }),
    body: t.exposeString('body', { description: 'Body, rendered; empty for none.' }),
  }),
})

const SimulatedUpdateRef = builder.objectRef<ContactUpdate>('SimulatedUpdate').implement({
  description: 'What a step would change of the contact.',
  fields: (t) => ({
    set: t.field({
      type: 'JSONObject',
      description: 'Custom fields with their new values.',
      resolve: ({ set }) => set,
    }),
    unset: t.exposeStringList('unset', { description: 'Custom fields that are removed.' }),
    subscribed: t.exposeBoolean('subscribed', {
      nullable: true,
      description: 'Whether it is subscribed then; null when that stays.',
    }),
  }),
})

const SimulatedStepRef = builder.objectRef<SimulatedStep>('SimulatedStep').implement({
  description: 'Something that happens at a step. A step that waits is told of twice.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'Time of it, in UTC.' }),
    stepId: t.exposeID('stepId', idOfOther('the step')),
    type: t.expose('type', { type: WorkflowStepTypeRef, description: 'Type of the step.' }),
    name: t.exposeString('name', { description: 'Name of the step.' }),
    status: t.expose('status', { type: StepExecutionStatusRef, description: 'State of the step then.' }),
    branch: t.exposeString('branch', {
      nullable: true,
      description: 'Branch that is taken; null for steps without branches, and while they wait.',
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Reason why it is skipped, exits or fails; null for all else.',
    }),
    until: t.expose('until', {
      type: 'DateTime',
      nullable: true,
      description: 'Time that it waits for, in UTC; null for none.',
    }),
    event: t.exposeString('event', {
      nullable: true,
      description: 'Name of the event that it waits for; null for none.',
    }),
    mail: t.expose('mail', {
      type: SimulatedMailRef,
      nullable: true,
      description: 'Message that it sends; null for none.',
    }),
    call: t.expose('call', {
      type: SimulatedCallRef,
      nullable: true,
      description: 'Call that it makes; null for none.',
    }),
    update: t.expose('update', {
      type: SimulatedUpdateRef,
      nullable: true,
      description: 'Change of the contact; null for none.',
    }),
  }),
})

const WorkflowSimulationRef = builder.objectRef<Simulation>('WorkflowSimulation').implement({
  description: 'What a workflow would do with a contact.',
  fields: (t) => ({
    status: t.expose('status', {
      type: ExecutionStatusRef,
      nullable: true,
      description:
        'State in which the execution is left: WAITING when it waits for an event that is not given; null when nothing starts it.',
    }),
    exitReason: t.exposeString('exitReason', {
      nullable: true,
      description: 'Reason that an EXIT step gives, or why it fails; null without one.',
    }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the last step, in UTC; null when nothing starts it.',
    }),
    email: t.string({ description: 'Address of the contact.', resolve: ({ contact }) => contact.email }),
    subscribed: t.boolean({
      description: 'Whether the contact is subscribed at the end.',
      resolve: ({ contact }) => contact.subscribed,
    }),
    data: t.field({
      type: 'JSONObject',
      description: 'Custom fields of the contact at the end.',
      resolve: ({ contact }) => contact.data,
    }),
    timeline: t.field({
      type: [SimulatedStepRef],
      description: 'What happens, in the order of time: at most 200 entries.',
      resolve: ({ timeline }) => timeline,
    }),
  }),
})

builder.queryField('simulateWorkflow', (t) =>
  t.field({
    description:
      'Leads a contact through a workflow, enabled or not, with a clock that jumps from one thing to the next, and tells what would happen. Nothing is stored, sent or called.',
    type: WorkflowSimulationRef,
    access: 'secretKey',
    args: {
      workflowId: t.arg.id(requiredId('workflow')),
      input: t.arg(inputArgument('SimulateWorkflowInput', simulateWorkflowInput)),
    },
    resolve: (_root, { workflowId, input }, ctx) => simulateWorkflow(ctx, workflowId, input),
  }),
)
