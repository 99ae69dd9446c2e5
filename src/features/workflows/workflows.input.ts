import { z } from 'zod'
import { MAX_EVENT_NAME } from '../../changes/event-names.rules.ts'
import { clearable, id, jsonObject, line, optional } from '../../lib/fields.ts'
import { STEP_TYPES } from './workflow-graph.rules.ts'

export const MAX_NAME = 100
const MAX_DESCRIPTION = 1_000
/** Coordinates beyond it are a mistake. */
const MAX_COORDINATE = 1_000_000

const name = line(MAX_NAME).min(1)
const description = z.string().max(MAX_DESCRIPTION)
const NAME = `Name for people, 1 to ${MAX_NAME} characters; it need not be unique.`
const DESCRIPTION = `Note for people, at most ${MAX_DESCRIPTION} characters.`
const REENTRY =
  'Whether a contact may enter again, one execution at a time; otherwise it enters once and never again.'

export const createWorkflowInput = z
  .object({
    name: name.describe(NAME),
    eventName: optional(z.string().min(1).max(MAX_EVENT_NAME)).describe(
      `Name of the event that starts it, at most ${MAX_EVENT_NAME} characters. It can be given later, with triggerConfig.`,
    ),
    description: optional(description).describe(DESCRIPTION),
    allowReentry: optional(z.boolean()).describe(`${REENTRY} false by default.`),
  })
  .meta({
    description: 'The workflow to create. It has the trigger type EVENT and is not enabled.',
    examples: [{ name: 'Onboarding', eventName: 'signed.up' }],
  })

export const updateWorkflowInput = z
  .object({
    name: name.optional().describe(NAME),
    description: clearable(description).describe(`${DESCRIPTION} null removes it.`),
    enabled: optional(z.boolean()).describe(
      'Whether executions can be started. What is wrong with the workflow is told when it is to be enabled.',
    ),
    allowReentry: optional(z.boolean()).describe(REENTRY),
    triggerType: optional(
      z.enum(['EVENT', 'MANUAL', 'SCHEDULE']).meta({ id: 'TriggerType', description: 'What starts it.' }),
    ).describe('What starts executions; another one than before empties triggerConfig.'),
    triggerConfig: optional(jsonObject).describe(
      'Settings of the trigger: { eventName } for EVENT, { cron, timezone?, segmentId } for SCHEDULE, {} for MANUAL.',
    ),
  })
  .meta({
    description: 'Fields of a workflow to change; fields that are left out stay as they are.',
    examples: [{ enabled: true }],
  })

const coordinate = z.number().min(-MAX_COORDINATE).max(MAX_COORDINATE)
const position = z
  .object({
    x: coordinate.describe('Distance from the left edge, in pixels.'),
    y: coordinate.describe('Distance from the upper edge, in pixels.'),
  })
  .describe('Place where an editor draws the step.')

const CONFIG = 'Settings of the step, by its type; see the documentation of workflows.'
const TEMPLATE_ID = 'Id of the template that a SEND_EMAIL step sends, a UUID; others have none.'

const STEP_FIELDS = {
  type: z
    .enum(STEP_TYPES)
    .meta({ id: 'WorkflowStepType', description: 'What the step does; it cannot be changed.' }),
  name: optional(name).describe(`${NAME} Without it, one that says what the type does.`),
  position: optional(position).describe('Place where an editor draws the step.'),
  config: optional(jsonObject).describe(CONFIG),
  templateId: optional(id).describe(TEMPLATE_ID),
}

export const createStepInput = z.object(STEP_FIELDS).meta({
  description: 'The step to add. It is checked at once; transitions lead to it and from it.',
  examples: [{ type: 'DELAY', name: 'Two days', config: { amount: 2, unit: 'days' } }],
})

export const insertStepInput = z
  .object({
    transitionId: id.describe('Id of the transition that the step is put into, a UUID.'),
    ...STEP_FIELDS,
  })
  .meta({
    description: 'The step to put between two others.',
    examples: [
      {
        transitionId: '0197a3c2-5e00-7000-8000-4d61696c7772',
        type: 'DELAY',
        config: { amount: 2, unit: 'days' },
      },
    ],
  })

export const updateStepInput = z
  .object({
    name: name.optional().describe(NAME),
    position: optional(position).describe('Place where an editor draws the step.'),
    config: optional(jsonObject).describe(`${CONFIG} It replaces the former one.`),
    templateId: optional(id).describe(TEMPLATE_ID),
  })
  .meta({
    description: 'Fields of a step to change; fields that are left out stay as they are.',
    examples: [{ config: { amount: 3, unit: 'days' } }],
  })

export const createTransitionInput = z
  .object({
    fromStepId: id.describe('Id of the step that it leads from, a UUID.'),
    toStepId: id.describe('Id of the step that it leads to, a UUID.'),
    branch: optional(z.string().max(20)).describe(
      'Branch that it is for: yes or no after CONDITION, event or timeout after WAIT_FOR_EVENT (where a transition without a branch is for both). Other steps have none.',
    ),
    condition: optional(
      z
        .object({ branch: optional(z.string().max(20)).describe('The same as branch.') })
        .describe('Another place for the branch.'),
    ).describe('Another place for the branch.'),
    priority: optional(z.int().min(0).max(1_000)).describe(
      'Order among transitions of a step, from 0, the default.',
    ),
  })
  .meta({
    description: 'The transition to add between two steps of the workflow.',
    examples: [
      {
        fromStepId: '0197a3c2-5e00-7000-8000-4d61696c7772',
        toStepId: '0197a3c2-5e00-7000-8000-4d61696c7773',
        branch: 'yes',
      },
    ],
  })
