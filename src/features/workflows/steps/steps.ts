import type { StepType } from '../workflow-graph.rules.ts'
import { conditionStep } from './condition.ts'
import type { StepDefinition } from './define-step.ts'
import { delayStep } from './delay.ts'
import { exitStep } from './exit.ts'
import { sendEmailStep } from './send-email.ts'
import { triggerStep } from './trigger.ts'
import { updateContactStep } from './update-contact.ts'
import { waitForEventStep } from './wait-for-event.ts'
import { webhookStep } from './webhook.ts'

/** Every type of steps. */
export const STEPS: Record<StepType, StepDefinition> = {
  TRIGGER: triggerStep,
  SEND_EMAIL: sendEmailStep,
  DELAY: delayStep,
  WAIT_FOR_EVENT: waitForEventStep,
  CONDITION: conditionStep,
  WEBHOOK: webhookStep,
  UPDATE_CONTACT: updateContactStep,
  EXIT: exitStep,
}
