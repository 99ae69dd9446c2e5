import type { StepType } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { CREATED_AT, idOf, idOfOther, UPDATED_AT } from '../../graphql/common-fields.ts'
import { defineEnum } from '../../graphql/inputs/zod-input.ts'
import type { Workflow } from './find-workflow.ts'

export const WorkflowStepTypeRef = defineEnum<StepType>('WorkflowStepType', {
  description: 'What a step of a workflow does.',
  values: {
    TRIGGER: { description: 'Beginning of every execution; only the service creates it, with the workflow.' },
    SEND_EMAIL: {
      description: 'Sends a template to the contact, or to an address; who may not get it is skipped.',
    },
    DELAY: { description: 'Waits for a length of time, or until a time.' },
    WAIT_FOR_EVENT: { description: 'Waits for an event of the contact, or for the end of a time.' },
    CONDITION: { description: 'Goes on by the branch yes or no.' },
    WEBHOOK: { description: 'Calls an address, and waits for the end of the call.' },
    UPDATE_CONTACT: { description: 'Changes the data or the subscription of the contact.' },
    EXIT: { description: 'Ends the execution as EXITED.' },
  },
})

const WorkflowStepPositionRef = builder
  .objectRef<{ x: number; y: number }>('WorkflowStepPosition')
  .implement({
    description: 'Place where an editor draws a step.',
    fields: (t) => ({
      x: t.exposeFloat('x', { description: 'Distance from the left edge, in pixels.' }),
      y: t.exposeFloat('y', { description: 'Distance from the upper edge, in pixels.' }),
    }),
  })

const numberIn = (value: unknown, key: 'x' | 'y'): number => {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : 0
  return typeof found === 'number' ? found : 0
}

export const WorkflowStepRef = builder.objectRef<Workflow['steps'][number]>('WorkflowStep').implement({
  description: 'A step of a workflow.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('step')),
    workflowId: t.exposeID('workflowId', idOfOther('the workflow that the step belongs to')),
    type: t.expose('type', { type: WorkflowStepTypeRef, description: 'What the step does.' }),
    name: t.exposeString('name', { description: 'Name for people, at most 100 characters.' }),
    position: t.field({
      type: WorkflowStepPositionRef,
      description: 'Place where an editor draws the step.',
      resolve: ({ position }) => ({ x: numberIn(position, 'x'), y: numberIn(position, 'y') }),
    }),
    config: t.field({
      type: 'JSONObject',
      description: 'Settings of the step, by its type.',
      resolve: ({ config }) => config,
    }),
    templateId: t.exposeID('templateId', {
      nullable: true,
      ...idOfOther('the template that a SEND_EMAIL step sends', 'for other types'),
    }),
    createdAt: t.expose('createdAt', CREATED_AT),
    updatedAt: t.expose('updatedAt', UPDATED_AT),
  }),
})

export const WorkflowTransitionRef = builder
  .objectRef<Workflow['transitions'][number]>('WorkflowTransition')
  .implement({
    description: 'A way from one step of a workflow to another.',
    fields: (t) => ({
      id: t.exposeID('id', idOf('transition')),
      workflowId: t.exposeID('workflowId', idOfOther('the workflow that the transition belongs to')),
      fromStepId: t.exposeID('fromStepId', idOfOther('the step that it leads from')),
      toStepId: t.exposeID('toStepId', idOfOther('the step that it leads to')),
      branch: t.exposeString('branch', {
        nullable: true,
        description: 'Branch that it is for: yes, no, event or timeout; null for a transition of no branch.',
      }),
      priority: t.exposeInt('priority', { description: 'Order among transitions of a step, from 0.' }),
    }),
  })
