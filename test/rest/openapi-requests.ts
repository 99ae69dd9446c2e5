import { randomUUID } from 'node:crypto'
import type { CallOptions, Service } from '../support/service.ts'

/** What a request needs beside the operation's method, path and key. */
export type Case = Pick<CallOptions, 'body' | 'headers'> & { params?: Record<string, string> }

type MakeCase = (service: Service) => Promise<Case> | Case

const NOBODY = '0197a3c2-5e00-7000-8000-4d61696c7772'

const newDomain = () => ({ domain: `d${randomUUID()}.example` })

const template = ({ project }: Service, type = 'TRANSACTIONAL') => ({
  name: 'Welcome',
  subject: 'Welcome',
  body: '<p>Hello</p>',
  from: `hello@${project.domain}`,
  type,
})

const message = ({ project }: Service) => ({
  to: ['ada@example.org', { email: 'grace@example.org', name: 'Grace' }],
  from: `Mailwright <hello@${project.domain}>`,
  subject: 'Hello',
  body: '<p>Hello</p>',
})

async function made(service: Service, path: string, body: unknown): Promise<{ id: string }> {
  const answer = await service.call('POST', path, { key: service.project.secret, body })
  if (answer.status !== 201) throw new Error(`POST ${path} failed: ${answer.text}`)
  return { id: answer.body.id }
}

/** For every operation a request that succeeds, however often it is made. */
export const SUCCEEDING: Record<string, MakeCase> = {
  addDomain: () => ({ body: newDomain() }),
  deleteDomain: async (service) => ({ params: await made(service, '/domains', newDomain()) }),
  domains: ({ project }) => ({ params: { projectId: project.id } }),
  createTemplate: (service) => ({ body: template(service) }),
  template: async (service) => ({ params: await made(service, '/templates', template(service)) }),
  sendEmail: (service) => ({ body: message(service) }),
  trackEvent: () => ({ body: { email: 'ada@example.org', event: 'signed_up', data: { plan: 'pro' } } }),
}

/** For every code that a route names itself a request that is answered with it. */
export const FAILING: Record<string, MakeCase> = {
  'addDomain 409 CONFLICT': async (service) => {
    const body = newDomain()
    await made(service, '/domains', body)
    return { body }
  },
  'deleteDomain 404 DOMAIN_NOT_FOUND': () => ({ params: { id: NOBODY } }),
  'template 404 TEMPLATE_NOT_FOUND': () => ({ params: { id: NOBODY } }),
  'createTemplate 403 INTERNAL_SERVER_ERROR': (service) => ({
    body: { ...template(service), from: 'hello@not-verified.example' },
  }),
  'sendEmail 403 INTERNAL_SERVER_ERROR': (service) => ({
    body: { ...message(service), from: 'hello@not-verified.example' },
  }),
  'sendEmail 404 TEMPLATE_NOT_FOUND': () => ({ body: { to: 'ada@example.org', template: NOBODY } }),
  'sendEmail 400 CONTACT_UNSUBSCRIBED': async (service) => {
    const { id } = await made(service, '/templates', template(service, 'MARKETING'))
    return { body: { to: `${randomUUID()}@example.org`, template: id } }
  },
}
