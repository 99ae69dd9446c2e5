import { randomUUID } from 'node:crypto'
import { type Service, withProject } from '../support/service.ts'
import type { Case } from './openapi-requests.ts'

type MakeCase = (service: Service) => Promise<Case> | Case

const NOBODY = '0197a3c2-5e00-7000-8000-4d61696c7772'

const campaign = ({ project }: Service, more: object = {}) => ({
  name: 'Spring sale',
  subject: 'Spring is here',
  body: '<p>Hello</p>',
  from: `news@${project.domain}`,
  audienceType: 'ALL',
  ...more,
})

async function created(service: Service, more: object = {}): Promise<{ id: string }> {
  const answer = await service.as().post('/campaigns', campaign(service, more))
  if (answer.status !== 201) throw new Error(`POST /campaigns failed: ${answer.text}`)
  return { id: answer.body.data.id }
}

const existing = async (service: Service): Promise<Case> => ({ params: await created(service) })

const unknown = (): Case => ({ params: { id: NOBODY } })

async function scheduled(service: Service): Promise<Case> {
  const { id } = await created(service)
  await service.as().post(`/campaigns/${id}/send`, { scheduledFor: '2040-01-01' })
  return { params: { id } }
}

async function cancelled(service: Service): Promise<Case> {
  const { params } = await scheduled(service)
  await service.as().post(`/campaigns/${params?.id}/cancel`)
  return { params: params ?? {} }
}

/** A campaign whose sender was verified once. */
async function unverified(service: Service): Promise<Case> {
  const { id } = await created(service)
  await service.sql(`update campaigns set "from" = 'news@not-verified.example' where id = $1`, [id])
  return { params: { id } }
}

/** A condition on an event of a name of its own. */
const conditionOn = (event: string) => ({
  audienceType: 'FILTERED',
  audienceCondition: {
    logic: 'AND',
    groups: [{ filters: [{ field: `event.${event}`, operator: 'triggered' }] }],
  },
})

const beingDeleted = ({ sql, project }: Service, event: string) =>
  sql('insert into event_deletions (project_id, name, before) values ($1, $2, now())', [project.id, event])

const OF_NO_SEGMENT = { audienceType: 'SEGMENT', segmentId: NOBODY }
const NOT_VERIFIED = { from: 'news@not-verified.example' }

/** The campaigns of a new project are as many as its quota allows. */
async function fullOfCampaigns(service: Service): Promise<Case> {
  const project = await service.newProject()
  const [first] = await service.sql<{ id: string }>(
    `insert into campaigns (project_id, id, name, subject, body, "from", audience_type, created_at, updated_at)
     select $1, gen_random_uuid(), 'n', 's', 'b', 'f', 'ALL', now(), now() from generate_series(1, $2::int)
     returning id`,
    [project.id, service.app.config.quotas.campaigns],
  )
  return { params: { id: first?.id ?? '' }, headers: { authorization: `Bearer ${project.secret}` } }
}

/** Requests of campaigns that succeed, however often they are made. */
export const SUCCEEDING_CAMPAIGNS: Record<string, MakeCase> = {
  campaigns: async (service) => {
    await created(service)
    return {}
  },
  campaign: existing,
  createCampaign: (service) => ({ body: campaign(service) }),
  updateCampaign: async (service) => ({ ...(await existing(service)), body: campaign(service) }),
  deleteCampaign: existing,
  duplicateCampaign: existing,
  sendCampaign: async (service) => ({
    ...(await existing(service)),
    body: { scheduledFor: '2040-01-01T08:00:00Z' },
  }),
  cancelCampaign: scheduled,
  testCampaign: async (service) => {
    const email = `${randomUUID()}@example.org`
    await service.as().post('/contacts', { email })
    return { ...(await existing(service)), body: { email } }
  },
  campaignStats: existing,
}

/** For every code that their routes name themselves a request that is answered with it. */
export const FAILING_CAMPAIGNS: Record<string, MakeCase> = {
  'campaign 404 CAMPAIGN_NOT_FOUND': unknown,
  'createCampaign 403 INTERNAL_SERVER_ERROR': (service) => ({ body: campaign(service, NOT_VERIFIED) }),
  'createCampaign 404 SEGMENT_NOT_FOUND': (service) => ({ body: campaign(service, OF_NO_SEGMENT) }),
  'createCampaign 409 CONFLICT': async (service) => {
    const event = randomUUID()
    await beingDeleted(service, event)
    return { body: campaign(service, conditionOn(event)) }
  },
  'updateCampaign 403 INTERNAL_SERVER_ERROR': async (service) => ({
    ...(await existing(service)),
    body: campaign(service, NOT_VERIFIED),
  }),
  'updateCampaign 404 CAMPAIGN_NOT_FOUND': (service) => ({ ...unknown(), body: campaign(service) }),
  'updateCampaign 404 SEGMENT_NOT_FOUND': async (service) => ({
    ...(await existing(service)),
    body: campaign(service, OF_NO_SEGMENT),
  }),
  'updateCampaign 409 CONFLICT': async (service) => ({
    ...(await cancelled(service)),
    body: campaign(service),
  }),
  'deleteCampaign 404 CAMPAIGN_NOT_FOUND': unknown,
  'deleteCampaign 409 CONFLICT': scheduled,
  'duplicateCampaign 404 CAMPAIGN_NOT_FOUND': unknown,
  'duplicateCampaign 404 SEGMENT_NOT_FOUND': async (service) => {
    const { id } = await created(service)
    await service.sql(`update campaigns set audience_type = 'SEGMENT' where id = $1`, [id])
    return { params: { id } }
  },
  'duplicateCampaign 409 CONFLICT': async (service) => {
    const [project, event] = [await service.newProject(), randomUUID()]
    const other = withProject(service, project)
    const params = await created(other, conditionOn(event))
    await beingDeleted(other, event)
    return { params, headers: { authorization: `Bearer ${project.secret}` } }
  },
  'duplicateCampaign 422 VALIDATION_ERROR': fullOfCampaigns,
  'sendCampaign 400 BAD_REQUEST': async (service) => ({
    ...(await existing(service)),
    body: { scheduledFor: '' },
  }),
  'sendCampaign 403 INTERNAL_SERVER_ERROR': async (service) => ({ ...(await unverified(service)), body: {} }),
  'sendCampaign 404 CAMPAIGN_NOT_FOUND': () => ({ ...unknown(), body: {} }),
  'sendCampaign 409 CONFLICT': async (service) => ({ ...(await cancelled(service)), body: {} }),
  'cancelCampaign 404 CAMPAIGN_NOT_FOUND': unknown,
  'cancelCampaign 409 CONFLICT': existing,
  'testCampaign 403 FORBIDDEN': async (service) => ({
    ...(await existing(service)),
    body: { email: `${randomUUID()}@example.org` },
  }),
  'testCampaign 403 INTERNAL_SERVER_ERROR': async (service) => ({
    ...(await unverified(service)),
    body: { email: 'ada@example.org' },
  }),
  'testCampaign 404 CAMPAIGN_NOT_FOUND': () => ({ ...unknown(), body: { email: 'ada@example.org' } }),
  'campaignStats 404 CAMPAIGN_NOT_FOUND': unknown,
}
