import { isDeepStrictEqual } from 'node:util'
import type { LastEvent, Subject } from '../../../audience/match.rules.ts'
import { type Ctx, projectIdOf } from '../../../ctx.ts'
import { AppError, tooLarge } from '../../../errors.ts'
import type { ExecutionStatus, StepExecutionStatus } from '../../../generated/prisma/enums.ts'
import { Pauses } from '../../../lib/async/pauses.ts'
import { newId } from '../../../lib/ids.ts'
import type { JsonObject } from '../../../lib/json.ts'
import { mergeData } from '../../contacts/contact-data.rules.ts'
import type { WorkflowCall } from '../../webhooks/workflow-calls.ts'
import type { DueExecution } from '../engine/advance.sql.ts'
import { appliedOf } from '../engine/apply-outcomes.ts'
import { type Ready, runStep } from '../engine/run-steps.ts'
import type { Workflow } from '../find-workflow.ts'
import type { ContactUpdate, Outcome, Receiver, WorkflowMail } from '../steps/define-step.ts'
import type { StepType } from '../workflow-graph.rules.ts'

export type GivenEvent = { name: string; at: Date; data: JsonObject }

export type SimulatedStep = {
  at: Date
  stepId: string
  type: StepType
  name: string
  status: StepExecutionStatus
  branch: string | null
  /** Why it was skipped, has exited or has failed. */
  reason: string | null
  until: Date | null
  event: string | null
  mail: WorkflowMail | null
  call: WorkflowCall | null
  update: ContactUpdate | null
}

export type Simulation = {
  /** null: nothing has started it. */
  status: ExecutionStatus | null
  exitReason: string | null
  endedAt: Date | null
  contact: { email: string; subscribed: boolean; data: JsonObject }
  timeline: SimulatedStep[]
}

/** One contact on its way, and the time that it is there. */
export type Journey = {
  workflow: Workflow
  steps: Map<string, Ready>
  /** In the order of time; those that are `left` can end a wait. */
  events: GivenEvent[]
  left: Set<GivenEvent>
  subject: Subject
  execution: DueExecution
  /** Of the project. */
  language: string
  footerText: string | null
  now: Date
  timeline: SimulatedStep[]
}

/** Characters of calls and subjects that the answer may have. */
const MAX_TOLD = 2_097_152

/** A contact as conditions see it at a time: with the events until then. */
export function seenAt(now: Date, subject: Subject, events: GivenEvent[]): Subject {
  const seen = new Map<string, LastEvent>(subject.events)
  for (const { name, at, data } of events) {
    const last = seen.get(name)
    if (at > now || (last && last.at > at)) continue
    seen.set(name, { at, byPerson: data.bot === true ? (last?.byPerson ?? null) : at })
  }
  return { ...subject, events: seen }
}

/** Goes from step to step until the end, or a wait that nothing ends. A step is passed once, so that it comes to one. */
export async function travel(tx: Ctx, journey: Journey): Promise<Simulation> {
  let told = 0
  const pauses = new Pauses()
  for (;;) {
    await pauses.whenDue()
    const { execution, steps, workflow, subject, now } = journey
    const step = steps.get(execution.stepId ?? '')
    if (!step) throw new Error('The step was not read')
    const outcome = await run(tx, journey, step)
    const { email } = subject.contact
    const applied = appliedOf({ execution, graph: workflow, stepId: step.stepId, email, outcome }, now)
    const entry = entryOf(journey, step, outcome, applied)
    journey.timeline.push(entry)
    told += (entry.call?.body.length ?? 0) + (entry.call?.url.length ?? 0) + 500
    if (told > MAX_TOLD) throw tooLarge('The workflow makes more calls than the answer has room for.')
    if (entry.update) journey.subject = updated(subject, entry.update, now)
    const isWaiting = applied.status === 'WAITING'
    journey.execution = { ...execution, status: applied.status, stepId: applied.stepId, wokenBy: null }
    const goesOn = isWaiting ? endOfWait(journey, entry) : applied.status === 'RUNNING'
    if (!goesOn) return endOf(journey, applied)
  }
}

async function run(tx: Ctx, journey: Journey, step: Ready): Promise<Outcome | AppError> {
  const { execution, subject, now, timeline, language, footerText } = journey
  const called = timeline.at(-1)?.call
  const outcome = await runStep(readingNothing(tx), {
    ...{ execution, step, subject, moment: { now, language, footerText, tracking: 'DISABLED' } },
    ended: called ? { id: called.id, succeeded: true, httpStatus: 200, error: null } : null,
    receiverAt: (email) => receiverAt(tx, email),
  })
  // The step might do it; all of them together cost too much for one request.
  if (outcome instanceof AppError && tx.renderBudget.isSpent) throw outcome
  return outcome
}

/** A step has all that it needs; a statement that it makes all the same might write. */
function readingNothing(ctx: Ctx): Ctx {
  const refuse = () => Promise.reject(new Error('A simulated step has to do with the database'))
  return { ...ctx, sql: refuse, atomically: refuse, enqueue: refuse, requestWork: () => {} }
}

/** Who would get mail at an address: nobody is made a contact, but a new one would not be subscribed. */
async function receiverAt(tx: Ctx, email: string): Promise<Receiver> {
  const projectId_email = { projectId: projectIdOf(tx), email }
  const known = await tx.db.contact.findUnique({ where: { projectId_email } })
  return { contactId: known?.id ?? newId(tx.now()), email, subscribed: known?.subscribed ?? false }
}

type Applied = ReturnType<typeof appliedOf>

function entryOf(
  { now }: Journey,
  step: Ready,
  outcome: Outcome | AppError,
  applied: Applied,
): SimulatedStep {
  const made = 'kind' in outcome ? outcome : null
  const reason = typeof applied.output?.reason === 'string' ? applied.output.reason : null
  return {
    ...{ at: now, stepId: step.stepId, type: step.type, name: step.name, status: applied.stepStatus },
    branch: made?.kind === 'done' ? made.branch : null,
    reason: applied.exitReason ?? reason,
    ...{ until: applied.scheduledFor, event: applied.event },
    mail: made?.kind === 'done' ? (made.mail ?? null) : null,
    call: made?.kind === 'wait' ? (made.call ?? null) : null,
    update: made?.kind === 'done' ? (made.update ?? null) : null,
  }
}

function updated(subject: Subject, { set, unset, subscribed }: ContactUpdate, now: Date): Subject {
  const { contact } = subject
  const data = mergeData(contact.data, { set, unset, values: {} })
  const next = { ...contact, data, subscribed: subscribed ?? contact.subscribed }
  return { ...subject, contact: isDeepStrictEqual(next, contact) ? contact : { ...next, updatedAt: now } }
}

/** Has the clock jump to what ends the wait: a call at once, the event, or the time. False when nothing does. */
function endOfWait(journey: Journey, { call, until, event }: SimulatedStep): boolean {
  const { now, events, left, execution } = journey
  if (call) {
    journey.execution = { ...execution, status: 'RUNNING', wokenBy: call.id }
    return true
  }
  const woken =
    event === null
      ? undefined
      : events.find(
          (one) =>
            left.has(one) && one.name === event && one.at >= now && (until === null || one.at <= until),
        )
  const at = woken?.at ?? until
  if (at === null) return false
  journey.now = at
  journey.subject = seenAt(at, journey.subject, events)
  if (woken) {
    left.delete(woken)
    journey.execution = { ...execution, status: 'RUNNING', wokenBy: newId(at) }
  }
  return true
}

function endOf({ subject, now, timeline }: Journey, { status, exitReason }: Applied): Simulation {
  const { email, subscribed, data } = subject.contact
  return { status, exitReason, endedAt: now, contact: { email, subscribed, data }, timeline }
}
