import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { advanceWorkflowsJob } from '../../../src/features/workflows/engine/advance-workflows.job.ts'
import type { Body, Project, Service } from '../../support/service.ts'
import { workThrough } from '../../support/work.ts'

/** Creates a workflow and returns it. */
export async function newWorkflow(service: Service, fields: object = {}): Promise<Body> {
  const body = { name: 'Onboarding', eventName: `signed.up.${randomUUID()}`, ...fields }
  const answer = await service.as().post('/workflows', body)
  assert.is(answer.status, 201, answer.text)
  return answer.body
}

export const workflowOf = async (service: Service, id: string): Promise<Body> =>
  (await service.as().get(`/workflows/${id}`)).body

export async function addStep(service: Service, workflowId: string, fields: object): Promise<Body> {
  const answer = await service.as().post(`/workflows/${workflowId}/steps`, fields)
  assert.is(answer.status, 201, answer.text)
  return answer.body
}

export async function connect(
  service: Service,
  workflowId: string,
  link: { fromStepId: string; toStepId: string; branch?: string },
): Promise<Body> {
  const answer = await service.as().post(`/workflows/${workflowId}/transitions`, link)
  assert.is(answer.status, 201, answer.text)
  return answer.body
}

export async function enable(service: Service, workflowId: string, fields: object = {}): Promise<void> {
  const answer = await service.as().patch(`/workflows/${workflowId}`, { enabled: true, ...fields })
  assert.is(answer.status, 200, answer.text)
}

/** An enabled workflow whose steps follow each other; its `steps` are those, after the TRIGGER step. */
export async function chain(service: Service, steps: object[], fields: object = {}): Promise<Body> {
  const { allowReentry, ...created } = { allowReentry: false, ...fields }
  const workflow = await newWorkflow(service, { ...created, allowReentry })
  const added: Body[] = []
  let last = workflow.steps[0].id
  for (const step of steps) {
    const next = await addStep(service, workflow.id, step)
    await connect(service, workflow.id, { fromStepId: last, toStepId: next.id })
    last = next.id
    added.push(next)
  }
  await enable(service, workflow.id)
  return { ...workflow, eventName: workflow.triggerConfig.eventName, steps: added }
}

export async function newContact(service: Service, fields: object = {}): Promise<Body> {
  const answer = await service.as().post('/contacts', { email: `${randomUUID()}@example.org`, ...fields })
  assert.is(answer.status, 201, answer.text)
  return answer.body
}

export async function track(
  service: Service,
  email: string,
  event: string,
  data: object = {},
  project: Project = service.project,
): Promise<void> {
  const answer = await service.as(project.public).post('/v1/track', { email, event, data })
  assert.is(answer.status, 200, answer.text)
}

/** Starts an execution and returns it. */
export async function start(
  service: Service,
  workflowId: string,
  contactId: string,
  context?: object,
): Promise<Body> {
  const answer = await service.as().post(`/workflows/${workflowId}/executions`, { contactId, context })
  assert.is(answer.status, 201, answer.text)
  return answer.body
}

export async function executionOf(service: Service, workflowId: string, id: string): Promise<Body> {
  const answer = await service.as().get(`/workflows/${workflowId}/executions/${id}`)
  assert.is(answer.status, 200, answer.text)
  return answer.body
}

export async function executionsOf(service: Service, workflowId: string): Promise<Body[]> {
  const answer = await service.as().get(`/workflows/${workflowId}/executions`)
  assert.is(answer.status, 200, answer.text)
  return answer.body.data
}

/** Has workflows do all that is due. */
export const advance = (service: Service): Promise<void> => workThrough(service, advanceWorkflowsJob)

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
