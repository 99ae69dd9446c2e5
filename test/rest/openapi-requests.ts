import { randomUUID } from 'node:crypto'
import { deleteFieldsJob } from '../../src/features/contact-fields/delete-fields.job.ts'
import { computeSegmentsJob } from '../../src/features/memberships/compute-segments.job.ts'
import { usedInSegment } from '../features/events/event-support.ts'
import { usedInStep } from '../features/templates/template-support.ts'
import { hold } from '../support/held-lock.ts'
import { IMAGES } from '../support/images.ts'
import { sendBody } from '../support/mailing.ts'
import type { CallOptions, Service } from '../support/service.ts'
import { turnOf, workThrough } from '../support/work.ts'
import { FAILING_ACCOUNTS, SUCCEEDING_ACCOUNTS } from './account-requests.ts'
import { FAILING_ACTIVITY, SUCCEEDING_ACTIVITY } from './activity-requests.ts'
import { FAILING_BILLING, SUCCEEDING_BILLING } from './billing-requests.ts'
import { FAILING_CAMPAIGNS, SUCCEEDING_CAMPAIGNS } from './campaign-requests.ts'
import { FAILING_PROJECTS, SUCCEEDING_PROJECTS } from './project-requests.ts'
import { FAILING_WORKFLOWS, SUCCEEDING_WORKFLOWS } from './workflow-requests.ts'

/** What a request needs beside the operation's method, path and key. */
export type Case = Pick<CallOptions, 'body' | 'headers'> & {
  params?: Record<string, string>
  query?: string
}

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

const message = ({ project }: Service) =>
  sendBody(project, {
    to: ['ada@example.org', { email: 'grace@example.org', name: 'Grace' }],
    from: `Mailwright <hello@${project.domain}>`,
  })

function imageForm(): FormData {
  const form = new FormData()
  form.append('image', new Blob([new Uint8Array(IMAGES.png)]), 'logo.png')
  return form
}

function csvForm(): FormData {
  const form = new FormData()
  form.append('file', new Blob(['email,plan\nada@example.org,pro\n']), 'contacts.csv')
  return form
}

/** Queues a job over this path and returns its id as a parameter. */
async function queued(service: Service, path: string, body: unknown): Promise<Pick<Case, 'params'>> {
  const answer = await service.as().post(path, body)
  if (answer.status !== 202) throw new Error(`POST ${path} failed: ${answer.text}`)
  return { params: { jobId: answer.body.jobId } }
}

/** A field that one contact has; a segment asks for it. */
async function usedField(service: Service): Promise<Pick<Case, 'params'>> {
  const field = `f${randomUUID()}`
  await made(service, '/contacts', { ...newPerson(), data: { [field]: 'pro' } })
  const filter = { field: `data.${field}`, operator: 'exists' }
  const condition = { logic: 'AND', groups: [{ filters: [filter] }] }
  await made(service, '/segments', { name: 'VIP', condition })
  return { params: { field } }
}

const newPerson = () => ({ email: `${randomUUID()}@example.org`, data: { plan: 'pro' } })

async function made(service: Service, path: string, body: unknown): Promise<{ id: string }> {
  const answer = await service.as().post(path, body)
  if (answer.status !== 201) throw new Error(`POST ${path} failed: ${answer.text}`)
  return { id: answer.body.id }
}

const PRO = {
  logic: 'AND',
  groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }],
}

const madeSegment = async (service: Service, more: object = {}) => ({
  params: await made(service, '/segments', { name: 'Pro', condition: PRO, ...more }),
})

const madeList = (service: Service) => madeSegment(service, { type: 'STATIC' })

const members = () => ({ emails: [newPerson().email, 'nobody@example.org'] })

/** An event of a new contact, with a name of its own. */
async function newEvent(service: Service): Promise<{ name: string; contactId: string }> {
  const [{ id: contactId }, name] = [await made(service, '/contacts', newPerson()), randomUUID()]
  const body = { name, contactId, data: { plan: 'pro' } }
  await service.as().post('/events/track', body)
  return { name, contactId }
}

/** The name of an event that a segment refers to. */
async function usedEvent(service: Service): Promise<string> {
  const { name } = await newEvent(service)
  await usedInSegment(service, name, service.project)
  return name
}

/**
 * For every operation a request that succeeds, however often it is made; where it can succeed in another way, one
 * more under its name and that status.
 */
export const SUCCEEDING: Record<string, MakeCase> = {
  ...SUCCEEDING_ACTIVITY,
  ...SUCCEEDING_CAMPAIGNS,
  ...SUCCEEDING_ACCOUNTS,
  ...SUCCEEDING_PROJECTS,
  ...SUCCEEDING_BILLING,
  ...SUCCEEDING_WORKFLOWS,
  contacts: async (service) => {
    await made(service, '/contacts', newPerson())
    return {}
  },
  contact: async (service) => ({ params: await made(service, '/contacts', newPerson()) }),
  importContacts: () => ({ body: csvForm() }),
  importJob: (service) => queued(service, '/contacts/import', csvForm()),
  bulkSubscribeContacts: () => ({ body: { contactIds: [NOBODY] } }),
  bulkUnsubscribeContacts: () => ({ body: { contactIds: [NOBODY], excludeIds: [] } }),
  bulkDeleteContacts: () => ({
    body: {
      filter: {
        logic: 'AND',
        groups: [{ filters: [{ field: 'email', operator: 'equals', value: 'nobody@example.org' }] }],
      },
    },
  }),
  bulkJob: (service) => queued(service, '/contacts/bulk-delete', { contactIds: [NOBODY] }),
  contactFields: async (service) => {
    await made(service, '/contacts', newPerson())
    return {}
  },
  contactFieldValues: async (service) => {
    await made(service, '/contacts', newPerson())
    return { params: { field: 'plan' } }
  },
  contactFieldUsage: usedField,
  deleteContactField: (service) => {
    // What a worker would do while the request waits.
    setTimeout(() => void workThrough(service, deleteFieldsJob), 500)
    return { params: { field: 'data.nobody' } }
  },
  'deleteContactField 202': () => ({ params: { field: 'data.nobody' } }),
  createContact: () => ({ body: newPerson() }),
  'createContact 200': async (service) => {
    const body = newPerson()
    await made(service, '/contacts', body)
    return { body }
  },
  updateContact: async (service) => ({
    params: await made(service, '/contacts', newPerson()),
    body: { ...newPerson(), subscribed: false },
  }),
  deleteContact: async (service) => ({ params: await made(service, '/contacts', newPerson()) }),
  lookupContacts: async (service) => {
    const { email } = newPerson()
    await made(service, '/contacts', { email })
    return { body: { emails: [email, 'nobody@example.org'] } }
  },
  config: () => ({}),
  addDomain: () => ({ body: newDomain() }),
  deleteDomain: async (service) => ({ params: await made(service, '/domains', newDomain()) }),
  domains: ({ project }) => ({ params: { projectId: project.id } }),
  verifyDomain: async (service) => ({ params: await made(service, '/domains', newDomain()) }),
  suppressions: async (service) => {
    await made(service, '/suppressions', newPerson())
    return {}
  },
  addSuppression: () => ({ body: { email: 'ada@example.org' } }),
  removeSuppression: async (service) => {
    const { email } = newPerson()
    await made(service, '/suppressions', { email })
    return { params: { email } }
  },
  projectSecurity: ({ project }) => ({ params: { id: project.id } }),
  ownProjectSecurity: ({ project }) => ({ params: { id: project.id } }),
  segments: async (service) => {
    await madeSegment(service)
    return {}
  },
  segment: (service) => madeSegment(service),
  segmentContacts: async (service) => {
    await made(service, '/contacts', newPerson())
    return madeSegment(service)
  },
  createSegment: () => ({ body: { name: 'Pro', description: 'They pay.', condition: PRO } }),
  updateSegment: async (service) => ({
    ...(await madeSegment(service)),
    body: { description: null, condition: PRO, trackMembership: true },
  }),
  deleteSegment: (service) => madeSegment(service),
  addSegmentMembers: async (service) => ({
    ...(await madeList(service)),
    body: { ...members(), createMissing: true },
  }),
  removeSegmentMembers: async (service) => ({ ...(await madeList(service)), body: members() }),
  computeSegment: async (service) => {
    const made = await madeSegment(service, { trackMembership: true })
    workBeside(service, made.params?.id)
    return made
  },
  'computeSegment 202': (service) => slowed(service, madeSegment(service, { trackMembership: true })),
  refreshSegment: (service) => madeSegment(service),
  'refreshSegment 202': (service) => slowed(service, madeSegment(service)),
  createTemplate: (service) => ({ body: template(service) }),
  template: async (service) => ({ params: await made(service, '/templates', template(service)) }),
  templates: () => ({}),
  updateTemplate: async (service) => ({
    params: await made(service, '/templates', template(service)),
    body: { name: 'Hello', replyTo: null },
  }),
  deleteTemplate: async (service) => ({ params: await made(service, '/templates', template(service)) }),
  duplicateTemplate: async (service) => ({ params: await made(service, '/templates', template(service)) }),
  templateUsage: async (service) => {
    const { id } = await made(service, '/templates', template(service))
    await usedInStep(service, id)
    return { params: { id } }
  },
  events: async (service) => {
    await newEvent(service)
    return {}
  },
  contactEvents: async (service) => ({ params: { contactId: (await newEvent(service)).contactId } }),
  eventStats: async (service) => {
    await newEvent(service)
    return {}
  },
  eventNames: async (service) => {
    await newEvent(service)
    return {}
  },
  eventUsage: async (service) => ({ params: { eventName: await usedEvent(service) } }),
  deleteEventsByQuery: async (service) => ({ query: `?name=${(await newEvent(service)).name}` }),
  deleteEvents: async (service) => ({ params: { eventName: (await newEvent(service)).name } }),
  trackContactEvent: async (service) => {
    const { id } = await made(service, '/contacts', newPerson())
    return { body: { name: 'signed_up', contactId: id, data: { plan: 'pro' } } }
  },
  sendEmail: (service) => ({ body: message(service) }),
  emailVerification: () => ({ body: { email: 'ada@example.org' } }),
  trackEvent: () => ({ body: { email: 'ada@example.org', event: 'signed_up', data: { plan: 'pro' } } }),
  uploadImage: () => ({ body: imageForm() }),
  images: async (service) => {
    await recordedImage(service)
    return {}
  },
  deleteImage: async (service) => ({ params: { key: await recordedImage(service) } }),
}

/** An image that is known, wherever its bytes are. Returns its key. */
async function recordedImage({ sql, project }: Service): Promise<string> {
  const id = randomUUID()
  const key = `${id.replaceAll('-', '')}.png`
  await sql(
    `insert into uploads (project_id, id, key, content_type, size, created_at)
     values ($1, $2, $3, 'image/png', 67, now())`,
    [project.id, id, key],
  )
  return key
}

/** The templates of a new project are as many as its quota allows; the id of one of them, and the project's key. */
async function fullOfTemplates(service: Service): Promise<Case> {
  const project = await service.newProject()
  const [first] = await service.sql<{ id: string }>(
    `insert into templates (project_id, id, name, subject, body, "from", created_at, updated_at)
     select $1, gen_random_uuid(), 'n', 's', 'b', 'f', now(), now() from generate_series(1, $2::int) returning id`,
    [project.id, service.app.config.quotas.templates],
  )
  return { params: { id: first?.id ?? '' }, headers: { authorization: `Bearer ${project.secret}` } }
}

/** For longer than a request waits nobody reads contacts. */
async function slowed<Made>(service: Service, made: Promise<Made>): Promise<Made> {
  const result = await made
  const held = await hold(service.databaseUrl, 'lock table contacts in access exclusive mode')
  setTimeout(() => void held.release(), 7_000)
  return result
}

/** Does what is to be computed for a segment, as a worker does, until that is done. */
function workBeside(service: Service, segmentId: string | undefined): void {
  const { id } = service.project
  const isComputed = async () =>
    (await service.sql('select from segments where id = $1 and computed_at is not null', [segmentId]))
      .length > 0
  const work = async () => {
    while (!(await isComputed())) await computeSegmentsJob.slice(service.ctx(id), turnOf(id))
  }
  void work()
}

/** A condition on an event that is being deleted. */
async function namingDeletedEvent({ sql, project }: Service) {
  await sql(
    `insert into event_deletions (project_id, name, before) values ($1, 'going', now()) on conflict do nothing`,
    [project.id],
  )
  return { logic: 'AND', groups: [{ filters: [{ field: 'event.going', operator: 'triggered' }] }] }
}

/** For every code that a route names itself a request that is answered with it. */
export const FAILING: Record<string, MakeCase> = {
  ...FAILING_ACTIVITY,
  ...FAILING_CAMPAIGNS,
  ...FAILING_ACCOUNTS,
  ...FAILING_PROJECTS,
  ...FAILING_BILLING,
  ...FAILING_WORKFLOWS,
  'contact 404 CONTACT_NOT_FOUND': () => ({ params: { id: NOBODY } }),
  'updateContact 404 CONTACT_NOT_FOUND': () => ({ params: { id: NOBODY }, body: {} }),
  'deleteContactField 409 CONFLICT': usedField,
  'updateContact 409 CONFLICT': async (service) => {
    const { email } = newPerson()
    await made(service, '/contacts', { email })
    return { params: await made(service, '/contacts', newPerson()), body: { email } }
  },
  'deleteContact 404 CONTACT_NOT_FOUND': () => ({ params: { id: NOBODY } }),
  'addDomain 409 CONFLICT': async (service) => {
    const body = newDomain()
    await made(service, '/domains', body)
    return { body }
  },
  'deleteDomain 409 CONFLICT': async (service) => {
    const { id } = await made(service, '/templates', template(service))
    await usedInStep(service, id)
    await service.sql('update workflows set enabled = true where project_id = $1', [service.project.id])
    const { body } = await service.as().get(`/domains/project/${service.project.id}`)
    return {
      params: { id: body.find((row: { domain: string }) => row.domain === service.project.domain).id },
    }
  },
  'removeSuppression 404 RESOURCE_NOT_FOUND': () => ({ params: { email: 'nobody@example.org' } }),
  'deleteDomain 404 DOMAIN_NOT_FOUND': () => ({ params: { id: NOBODY } }),
  'verifyDomain 404 DOMAIN_NOT_FOUND': () => ({ params: { id: NOBODY } }),
  'segment 404 SEGMENT_NOT_FOUND': () => ({ params: { id: NOBODY } }),
  'segmentContacts 404 SEGMENT_NOT_FOUND': () => ({ params: { id: NOBODY } }),
  'createSegment 400 short': () => ({ body: { name: 'Everybody' } }),
  'updateSegment 400 short': async (service) => ({
    ...(await madeSegment(service)),
    body: { condition: 'everybody' },
  }),
  'createSegment 409 CONFLICT': async (service) => ({
    body: { name: 'Late', condition: await namingDeletedEvent(service) },
  }),
  'updateSegment 409 CONFLICT': async (service) => ({
    ...(await madeSegment(service)),
    body: { condition: await namingDeletedEvent(service) },
  }),
  'updateSegment 404 SEGMENT_NOT_FOUND': () => ({ params: { id: NOBODY }, body: {} }),
  'deleteSegment 404 SEGMENT_NOT_FOUND': () => ({ params: { id: NOBODY } }),
  'deleteSegment 409 CONFLICT': async (service) => {
    const { params } = await madeSegment(service)
    const filter = { field: `segment.${params.id}`, operator: 'memberOfSegment' }
    await madeSegment(service, { condition: { logic: 'AND', groups: [{ filters: [filter] }] } })
    return { params }
  },
  'addSegmentMembers 400 BAD_REQUEST': async (service) => ({
    ...(await madeSegment(service)),
    body: members(),
  }),
  'addSegmentMembers 404 SEGMENT_NOT_FOUND': () => ({ params: { id: NOBODY }, body: members() }),
  'removeSegmentMembers 400 BAD_REQUEST': async (service) => ({
    ...(await madeSegment(service)),
    body: members(),
  }),
  'removeSegmentMembers 404 SEGMENT_NOT_FOUND': () => ({ params: { id: NOBODY }, body: members() }),
  'computeSegment 400 BAD_REQUEST': (service) => madeSegment(service),
  'computeSegment 404 SEGMENT_NOT_FOUND': () => ({ params: { id: NOBODY } }),
  'refreshSegment 404 SEGMENT_NOT_FOUND': () => ({ params: { id: NOBODY } }),
  'contactEvents 404 CONTACT_NOT_FOUND': () => ({ params: { contactId: NOBODY } }),
  'eventStats 400 BAD_REQUEST': () => ({ query: '?startDate=2026-03-05&endDate=2026-03-04' }),
  'deleteEventsByQuery 400 BAD_REQUEST': () => ({}),
  'deleteEventsByQuery 409 CONFLICT': async (service) => ({ query: `?name=${await usedEvent(service)}` }),
  'deleteEventsByQuery 422 VALIDATION_ERROR': () => ({ query: '?name=email.sent' }),
  'eventUsage 400 BAD_REQUEST': () => ({ params: { eventName: 'e'.repeat(256) } }),
  'deleteEvents 409 CONFLICT': async (service) => ({ params: { eventName: await usedEvent(service) } }),
  'deleteEvents 422 VALIDATION_ERROR': () => ({ params: { eventName: 'email.sent' } }),
  'trackContactEvent 404 CONTACT_NOT_FOUND': () => ({ body: { name: 'signed_up', contactId: NOBODY } }),
  'template 404 TEMPLATE_NOT_FOUND': () => ({ params: { id: NOBODY } }),
  'updateTemplate 404 TEMPLATE_NOT_FOUND': () => ({ params: { id: NOBODY }, body: {} }),
  'updateTemplate 403 INTERNAL_SERVER_ERROR': async (service) => ({
    params: await made(service, '/templates', template(service)),
    body: { from: 'hello@not-verified.example' },
  }),
  'deleteTemplate 404 TEMPLATE_NOT_FOUND': () => ({ params: { id: NOBODY } }),
  'deleteTemplate 409 CONFLICT': async (service) => {
    const { id } = await made(service, '/templates', template(service))
    await usedInStep(service, id)
    return { params: { id } }
  },
  'duplicateTemplate 404 TEMPLATE_NOT_FOUND': () => ({ params: { id: NOBODY } }),
  'duplicateTemplate 422 VALIDATION_ERROR': fullOfTemplates,
  'templateUsage 404 TEMPLATE_NOT_FOUND': () => ({ params: { id: NOBODY } }),
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
