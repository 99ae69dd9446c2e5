import { randomUUID } from 'node:crypto'
import type { Body, Project, Service } from '../../support/service.ts'
import { templateOf } from '../sending/send-support.ts'

export const FIELDS =
  'id projectId name description subject body from fromName replyTo type createdAt updatedAt'

/** A template as the API shows it. */
export async function wholeTemplate(service: Service, fields: object = {}): Promise<Body> {
  const id = await templateOf(service, { ...fields })
  return (await service.as().get(`/templates/${id}`)).body
}

/** The statement that makes a step of a workflow, and its values. */
export function newStep(project: Project, workflowId: string, templateId: string) {
  const id = randomUUID()
  const text = `insert into workflow_steps (project_id, id, workflow_id, type, name, template_id, created_at, updated_at)
    values ($1, $2, $3, 'SEND_EMAIL', 'Say hello', $4, now(), now())`
  return { id, text, values: [project.id, id, workflowId, templateId] }
}

export async function newWorkflow({ sql, project }: Service): Promise<string> {
  const id = randomUUID()
  await sql(
    `insert into workflows (project_id, id, name, created_at, updated_at) values ($1, $2, 'Onboarding', now(), now())`,
    [project.id, id],
  )
  return id
}

/** Makes a workflow with a step that sends the template. */
export async function usedInStep(service: Service, templateId: string) {
  const workflowId = await newWorkflow(service)
  const { id, text, values } = newStep(service.project, workflowId, templateId)
  await service.sql(text, values)
  return { id, workflowId }
}
