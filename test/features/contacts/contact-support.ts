import * as assert from 'uvu/assert'
import type { Answer, Body, Project, Service } from '../../support/service.ts'

/** Every field of a contact, for GraphQL. */
export const CONTACT = 'id email subscribed data createdAt updatedAt'

export const createContact = (
  service: Service,
  body: unknown,
  project: Project = service.project,
): Promise<Answer> => service.as(project).post('/contacts', body)

/** A new contact as the API shows it. */
export async function newContact(
  service: Service,
  fields: object = {},
  project: Project = service.project,
): Promise<Body> {
  const email = `c${Math.random().toString(36).slice(2)}@example.org`
  const { status, text, body } = await createContact(service, { email, ...fields }, project)
  assert.is(status, 201, text)
  const { _meta, ...contact } = body
  return contact
}

/** A contact as GET shows it. */
export async function contactOf(service: Service, id: string, project = service.project): Promise<Body> {
  const { status, text, body } = await service.as(project).get(`/contacts/${id}`)
  assert.is(status, 200, text)
  return body
}

/** Runs a GraphQL operation with one field and returns that field's value. */
export async function graphqlValue(
  service: Service,
  query: string,
  variables: object = {},
  project: Project = service.project,
): Promise<Body> {
  const { body, text } = await service.as(project).graphql(query, variables)
  assert.not.ok(body.errors, text)
  const [value] = Object.values(body.data)
  return value
}

/** What the short form of an error says. */
export function shortError({ status, body, text }: Answer): string {
  assert.is(status, 400, text)
  assert.equal(Object.keys(body), ['error'], text)
  assert.type(body.error, 'string')
  return body.error
}
