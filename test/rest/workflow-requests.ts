import { randomUUID } from 'node:crypto'
import { templateOf } from '../features/sending/send-support.ts'
import { type Body, type Service, withProject } from '../support/service.ts'
import type { Case } from './openapi-requests.ts'

type MakeCase = (service: Service) => Promise<Case> | Case

const NOBODY = '0197a3c2-5e00-7000-8000-4d61696c7772'
const DELAY = { type: 'DELAY', config: { amount: 1, unit: 'days' } }

async function posted(service: Service, path: string, body: unknown): Promise<Body> {
  const answer = await service.as().post(path, body)
  if (answer.status !== 201) throw new Error(`POST ${path} failed: ${answer.text}`)
  return answer.body
}

const created = (service: Service, more: object = {}): Promise<Body> =>
  posted(service, '/workflows', { name: 'Onboarding', eventName: 'signed.up', ...more })

const existing = async (service: Service): Promise<Case> => ({ params: { id: (await created(service)).id } })

const unknown = (): Case => ({
  params: { id: NOBODY, stepId: NOBODY, transitionId: NOBODY, executionId: NOBODY },
})

/** A workflow with a DELAY after its TRIGGER. */
async function connected(service: Service) {
  const { id, steps } = await created(service)
  const step = await posted(service, `/workflows/${id}/steps`, DELAY)
  const link = { fromStepId: steps[0].id, toStepId: step.id }
  const transition = await posted(service, `/workflows/${id}/transitions`, link)
  return { id, triggerId: steps[0].id, stepId: step.id, transitionId: transition.id }
}

const params = async (service: Service): Promise<Case> => ({ params: await connected(service) })

/** An execution that is active. */
async function running(service: Service) {
  const found = await connected(service)
  await service.as().patch(`/workflows/${found.id}`, { enabled: true })
  const contact = await posted(service, '/contacts', { email: `${randomUUID()}@example.org` })
  const execution = await posted(service, `/workflows/${found.id}/executions`, { contactId: contact.id })
  return { ...found, contactId: contact.id, executionId: execution.id }
}

const active = async (service: Service): Promise<Case> => ({ params: await running(service) })

async function cancelled(service: Service) {
  const found = await running(service)
  await service.as().delete(`/workflows/${found.id}/executions/${found.executionId}`)
  return found
}

async function contactId(service: Service): Promise<string> {
  return (await posted(service, '/contacts', { email: `${randomUUID()}@example.org` })).id
}

const sendsUnknown = { type: 'SEND_EMAIL', templateId: NOBODY }

/** In a project of its own an event is being deleted. */
async function beingDeleted(service: Service) {
  const [project, event] = [await service.newProject(), randomUUID()]
  await service.sql('insert into event_deletions (project_id, name, before) values ($1, $2, now())', [
    project.id,
    event,
  ])
  return { body: { name: 'n', eventName: event }, headers: { authorization: `Bearer ${project.secret}` } }
}

/** Requests of workflows that succeed, however often they are made. */
export const SUCCEEDING_WORKFLOWS: Record<string, MakeCase> = {
  workflows: async (service) => {
    await created(service)
    return {}
  },
  workflowFields: async (service) => {
    const event = randomUUID()
    const email = `${randomUUID()}@example.org`
    await service.as(service.project.public).post('/v1/track', { email, event, data: { plan: 'pro' } })
    return { query: `?eventName=${event}` }
  },
  workflow: params,
  createWorkflow: () => ({ body: { name: 'Onboarding' } }),
  updateWorkflow: async (service) => ({ ...(await params(service)), body: { enabled: true } }),
  deleteWorkflow: params,
  createWorkflowStep: async (service) => ({
    ...(await existing(service)),
    body: { type: 'SEND_EMAIL', templateId: await templateOf(service, {}), position: { x: 1, y: 2 } },
  }),
  updateWorkflowStep: async (service) => ({ ...(await params(service)), body: { name: 'Wait' } }),
  deleteWorkflowStep: params,
  createWorkflowTransition: async (service) => {
    const { id, stepId } = await connected(service)
    const next = await posted(service, `/workflows/${id}/steps`, DELAY)
    return { params: { id }, body: { fromStepId: stepId, toStepId: next.id } }
  },
  deleteWorkflowTransition: params,
  startWorkflowExecution: async (service) => {
    const { id } = await running(service)
    return { params: { id }, body: { contactId: await contactId(service), context: { plan: 'pro' } } }
  },
  workflowExecutions: active,
  workflowExecution: active,
  cancelWorkflowExecution: active,
  cancelAllWorkflowExecutions: active,
}

/** For every code that their routes name themselves a request that is answered with it. */
export const FAILING_WORKFLOWS: Record<string, MakeCase> = {
  'workflow 404 WORKFLOW_NOT_FOUND': unknown,
  'createWorkflow 409 CONFLICT': beingDeleted,
  'updateWorkflow 404 WORKFLOW_NOT_FOUND': () => ({ ...unknown(), body: {} }),
  'updateWorkflow 404 SEGMENT_NOT_FOUND': async (service) => ({
    ...(await existing(service)),
    body: { triggerType: 'SCHEDULE', triggerConfig: { segmentId: NOBODY } },
  }),
  'updateWorkflow 409 CONFLICT': async (service) => {
    const { body, headers } = await beingDeleted(service)
    const secret = headers.authorization.slice('Bearer '.length)
    const own = withProject(service, { ...service.project, secret })
    const { id } = await posted(own, '/workflows', { name: 'n' })
    return { params: { id }, headers, body: { triggerConfig: { eventName: body.eventName } } }
  },
  'deleteWorkflow 404 WORKFLOW_NOT_FOUND': unknown,
  'deleteWorkflow 409 CONFLICT': active,
  'createWorkflowStep 404 WORKFLOW_NOT_FOUND': () => ({ ...unknown(), body: DELAY }),
  'createWorkflowStep 404 TEMPLATE_NOT_FOUND': async (service) => ({
    ...(await existing(service)),
    body: sendsUnknown,
  }),
  'createWorkflowStep 409 CONFLICT': async (service) => ({ ...(await active(service)), body: DELAY }),
  'updateWorkflowStep 404 WORKFLOW_NOT_FOUND': () => ({ ...unknown(), body: {} }),
  'updateWorkflowStep 404 TEMPLATE_NOT_FOUND': async (service) => {
    const { id } = await created(service)
    const templateId = await templateOf(service, {})
    const step = await posted(service, `/workflows/${id}/steps`, { type: 'SEND_EMAIL', templateId })
    return { params: { id, stepId: step.id }, body: { templateId: NOBODY } }
  },
  'updateWorkflowStep 409 CONFLICT': async (service) => {
    const { id } = await created(service)
    const config = { eventName: 'paid' }
    const step = await posted(service, `/workflows/${id}/steps`, { type: 'WAIT_FOR_EVENT', config })
    await service.as().patch(`/workflows/${id}`, { enabled: true })
    await posted(service, `/workflows/${id}/executions`, { contactId: await contactId(service) })
    return { params: { id, stepId: step.id }, body: { config: { eventName: 'left' } } }
  },
  'deleteWorkflowStep 400 BAD_REQUEST': async (service) => ({
    ...(await params(service)),
    query: '?splice=perhaps',
  }),
  'deleteWorkflowStep 404 WORKFLOW_NOT_FOUND': unknown,
  'deleteWorkflowStep 409 CONFLICT': active,
  'deleteWorkflowStep 422 VALIDATION_ERROR': async (service) => {
    const { id, triggerId } = await connected(service)
    return { params: { id, stepId: triggerId } }
  },
  'createWorkflowTransition 404 WORKFLOW_NOT_FOUND': () => ({
    ...unknown(),
    body: { fromStepId: NOBODY, toStepId: NOBODY },
  }),
  'createWorkflowTransition 409 CONFLICT': async (service) => {
    const { id, triggerId, stepId } = await running(service)
    return { params: { id }, body: { fromStepId: triggerId, toStepId: stepId } }
  },
  'deleteWorkflowTransition 404 WORKFLOW_NOT_FOUND': unknown,
  'deleteWorkflowTransition 409 CONFLICT': active,
  'startWorkflowExecution 404 WORKFLOW_NOT_FOUND': () => ({ ...unknown(), body: { contactId: NOBODY } }),
  'startWorkflowExecution 404 CONTACT_NOT_FOUND': async (service) => ({
    ...(await active(service)),
    body: { contactId: NOBODY },
  }),
  'startWorkflowExecution 409 CONFLICT': async (service) => ({
    ...(await existing(service)),
    body: { contactId: await contactId(service) },
  }),
  'workflowExecutions 404 WORKFLOW_NOT_FOUND': unknown,
  'workflowExecution 404 WORKFLOW_NOT_FOUND': unknown,
  'cancelWorkflowExecution 404 WORKFLOW_NOT_FOUND': unknown,
  'cancelWorkflowExecution 409 CONFLICT': async (service) => ({ params: await cancelled(service) }),
  'cancelAllWorkflowExecutions 404 WORKFLOW_NOT_FOUND': unknown,
}
