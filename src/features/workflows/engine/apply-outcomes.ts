import { wakeFollowers } from '../../../changes/followers.ts'
import { type Ctx, projectIdOf } from '../../../ctx.ts'
import { AppError } from '../../../errors.ts'
import { newId } from '../../../lib/ids.ts'
import { PRIORITIES } from '../../../queue/priorities.ts'
import { refuseTooLarge } from '../../contacts/contacts.ts'
import { recordFieldNames } from '../../contacts/field-names.ts'
import { mailDeliveryWork } from '../../delivery/mail-delivery.ts'
import { messageIdOf } from '../../emails/message-id.ts'
import { storeCalls } from '../../webhooks/workflow-calls.ts'
import type { ContactUpdate, Outcome, WorkflowMail } from '../steps/define-step.ts'
import { nextStepOf } from '../workflow-graph.rules.ts'
import { type Applied, applyOutcomes, type StoredMail, storeMail, updateContacts } from './advance.sql.ts'
import type { Ran } from './run-steps.ts'

/** Writes what steps have come to: contacts, mail, calls, and where the executions are then. All of it is one commit. */
export async function applyAll(tx: Ctx, ran: Ran[], now: Date): Promise<void> {
  const projectId = projectIdOf(tx)
  await changeContacts(tx, ran, now)
  const mail = ran.flatMap(({ outcome }) =>
    isDone(outcome) && outcome.mail ? [storedMail(outcome.mail)] : [],
  )
  if (mail.length > 0) {
    await tx.sql(tx.services.mailPermits ? storeMail.billed : storeMail.free, {
      ...{ projectId, rows: JSON.stringify(mail), priority: PRIORITIES.workflow, now },
      clockShift: tx.services.clockShift(),
    })
    tx.requestWork(mailDeliveryWork, PRIORITIES.workflow)
  }
  const calls = ran.flatMap(({ outcome }) =>
    'kind' in outcome && outcome.kind === 'wait' && outcome.call ? [outcome.call] : [],
  )
  await storeCalls(tx, calls, now)
  const rows = ran.map((one) => appliedOf(one, now))
  if (rows.length > 0) await tx.sql(applyOutcomes, { projectId, rows: JSON.stringify(rows), now })
}

type Done = Extract<Outcome, { kind: 'done' }>

const isDone = (outcome: Ran['outcome']): outcome is Done => 'kind' in outcome && outcome.kind === 'done'

/** One statement for each step that changes contacts: all of its executions change them in the same way. */
async function changeContacts(tx: Ctx, ran: Ran[], now: Date): Promise<void> {
  const changes = new Map<string, { update: ContactUpdate; emails: string[] }>()
  for (const { stepId, outcome, email } of ran) {
    if (!isDone(outcome) || !outcome.update) continue
    const change = changes.get(stepId) ?? { update: outcome.update, emails: [] }
    changes.set(stepId, { ...change, emails: [...change.emails, email] })
  }
  for (const { update, emails } of changes.values()) {
    const { subscribed, set, unset } = update
    await recordFieldNames(tx, set)
    const change = {
      ...{ projectId: projectIdOf(tx), emails: emails.toSorted(), eventIds: emails.map(() => newId(now)) },
      ...{ subscribed, set: JSON.stringify(set), unset, now },
    }
    const rows = await tx.sql(updateContacts, change).catch(refuseTooLarge)
    wakeFollowers(tx, rows)
  }
}

function storedMail({ emailId, executionId, contactId, to, template, composed }: WorkflowMail): StoredMail {
  const { from, fromName, replyTo, type, id: templateId } = template
  return {
    ...{ emailId, contactId, executionId, templateId, to, from, fromName, replyTo, type },
    ...{ subject: composed.subject, html: composed.html, headers: composed.headers },
    messageId: messageIdOf(emailId, from),
  }
}

/** Where an execution is after a step, and what is written of the step. */
export function appliedOf({ execution, graph, stepId, outcome }: Ran, now: Date): Applied {
  const staying: Applied = {
    ...{ id: execution.id, status: 'RUNNING', stepId, nextAt: now, event: null, exitReason: null },
    ...{ stepExecutionId: newId(now), atStepId: stepId, stepStatus: 'COMPLETED', scheduledFor: null },
    ...{ output: null, error: null },
  }
  if (outcome instanceof AppError) {
    const reason = failureOf(outcome)
    return {
      ...staying,
      status: 'FAILED',
      nextAt: null,
      exitReason: reason,
      stepStatus: 'FAILED',
      error: reason,
    }
  }
  if (outcome.kind === 'exit')
    return { ...staying, status: 'EXITED', nextAt: null, exitReason: outcome.reason }
  if (outcome.kind === 'wait') {
    const { until, event, call, output = null } = outcome
    const stepStatus = event === null && !call ? 'SCHEDULED' : 'WAITING'
    return { ...staying, status: 'WAITING', nextAt: until, event, stepStatus, scheduledFor: until, output }
  }
  const next = nextStepOf(graph, stepId, outcome.branch)
  const done: Applied = {
    ...staying,
    ...(outcome.skipped && { stepStatus: 'SKIPPED' }),
    output: outcome.output ?? null,
  }
  return next === null ? { ...done, status: 'COMPLETED', nextAt: null } : { ...done, stepId: next }
}

const failureOf = ({ message, extras }: AppError): string =>
  [message, ...(extras.errors ?? []).map((one) => `${one.field} ${one.message}.`)].join(' ')
