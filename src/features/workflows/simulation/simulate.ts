import type { z } from 'zod'
import type { Subject } from '../../../audience/match.rules.ts'
import type { Ctx } from '../../../ctx.ts'
import { tooLarge } from '../../../errors.ts'
import { newId } from '../../../lib/ids.ts'
import type { JsonObject } from '../../../lib/json.ts'
import { findContact } from '../../contacts/contacts.ts'
import { projectVoice } from '../../projects/project-settings.ts'
import type { DueExecution } from '../engine/advance.sql.ts'
import { type Ready, readSubjects, readyTo } from '../engine/run-steps.ts'
import { getWorkflow, type Workflow } from '../find-workflow.ts'
import { eventOf } from '../triggers.ts'
import { type GivenEvent, type Journey, type Simulation, seenAt, travel } from './journey.ts'
import type { simulateWorkflowInput } from './simulation.input.ts'

type Input = z.output<typeof simulateWorkflowInput>

/** Bytes of JSON that a request may give. */
const MAX_GIVEN = 262_144

/**
 * Leads a contact through a workflow, enabled or not, by the engine's own steps with a clock that jumps from one thing to the
 * next. Nothing is written, sent or called: mail is accepted, and calls succeed. Throws as `getWorkflow` and `findContact`
 * do, and PAYLOAD_TOO_LARGE.
 */
export async function simulateWorkflow(ctx: Ctx, workflowId: string, input: Input): Promise<Simulation> {
  if (Buffer.byteLength(JSON.stringify(input)) > MAX_GIVEN) {
    throw tooLarge(`A simulation takes at most ${MAX_GIVEN} bytes.`)
  }
  const workflow = await getWorkflow(ctx, workflowId)
  const startAt = input.startAt === undefined ? ctx.now() : new Date(input.startAt)
  const events = happening(input)
  const begin = beginning(workflow, events, input.context ?? null, startAt)
  const steps = await readyTo(ctx, [workflow], () => true)
  const createdAt = begin?.at ?? startAt
  const { contactId, subject } = await personOf(
    ctx,
    { workflow, steps: [...steps.values()], createdAt },
    input,
  )
  if (!begin) {
    const { email, subscribed, data } = subject.contact
    return {
      ...{ status: null, exitReason: null, endedAt: null, timeline: [] },
      contact: { email, subscribed, data },
    }
  }
  const { language, footerText } = await projectVoice(ctx)
  const journey: Journey = {
    language,
    footerText,
    ...{ workflow, steps, events, subject: seenAt(begin.at, subject, events), now: begin.at, timeline: [] },
    left: new Set(events.filter((event) => event !== begin.event)),
    execution: newExecution(ctx, workflow, contactId, begin.context),
  }
  return travel(ctx, journey)
}

const happening = ({ events = [] }: Input): GivenEvent[] =>
  events
    .map(({ name, at, data = {} }) => ({ name, at: new Date(at), data }))
    .toSorted((a, b) => a.at.getTime() - b.at.getTime())

type Beginning = { at: Date; context: JsonObject; event: GivenEvent | null }

/** A request starts at once; without one the first event of the trigger does. null: nothing starts it. */
function beginning(
  workflow: Workflow,
  events: GivenEvent[],
  context: JsonObject | null,
  startAt: Date,
): Beginning | null {
  if (context !== null || workflow.triggerType !== 'EVENT') {
    return { at: startAt, context: context ?? {}, event: null }
  }
  const name = eventOf(workflow)
  // The first fill of a segment starts nothing.
  const event = events.find((one) => one.name === name && one.at >= startAt && one.data.initial !== true)
  return event ? { at: event.at, context: event.data, event } : null
}

const newExecution = (tx: Ctx, workflow: Workflow, contactId: string, context: JsonObject): DueExecution => ({
  ...{ id: newId(tx.now()), workflowId: workflow.id, contactId, context, status: 'RUNNING', wokenBy: null },
  stepId: workflow.steps.find(({ type }) => type === 'TRIGGER')?.id ?? null,
})

/** Who goes through the steps; a contact that need not exist is made at `createdAt`. */
async function personOf(
  tx: Ctx,
  { workflow, steps, createdAt }: { workflow: Workflow; steps: Ready[]; createdAt: Date },
  input: Input,
): Promise<{ contactId: string; subject: Subject }> {
  if (input.contact) {
    const { email, subscribed = true, data = {} } = input.contact
    const contact = { email, subscribed, data, createdAt, updatedAt: createdAt }
    return { contactId: newId(createdAt), subject: { contact, events: new Map(), segments: new Set() } }
  }
  const { id: contactId } = await findContact(tx, { id: input.contactId ?? '' })
  const subjects = await readSubjects(tx, [newExecution(tx, workflow, contactId, {})], steps)
  const subject = subjects.get(contactId)
  if (!subject) throw new Error('The contact was not read')
  return { contactId, subject }
}
