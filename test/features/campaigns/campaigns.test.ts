import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { fieldErrors } from '../sending/send-support.ts'
import { campaignBody, newCampaign, newContacts } from './campaign-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

const CONDITION = {
  logic: 'AND',
  groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }],
}

const BAD: [what: string, fields: object, errors: [string, string][]][] = [
  [
    'nothing but a sender',
    { name: undefined, subject: undefined, body: undefined, audienceType: undefined },
    [
      ['name', 'required'],
      ['subject', 'required'],
      ['body', 'required'],
      ['audienceType', 'required'],
    ],
  ],
  ['no sender', { from: undefined }, [['from', 'required']]],
  ['an unknown audience', { audienceType: 'SOME' }, [['audienceType', 'invalid_enum_value']]],
  ['SEGMENT without a segment', { audienceType: 'SEGMENT' }, [['segmentId', 'required']]],
  ['FILTERED without a condition', { audienceType: 'FILTERED' }, [['audienceCondition', 'required']]],
  [
    'a condition with an unknown operator',
    {
      audienceType: 'FILTERED',
      audienceCondition: { logic: 'AND', groups: [{ filters: [{ field: 'email', operator: 'is' }] }] },
    },
    [['audienceCondition.groups.0.filters.0.operator', 'invalid_enum_value']],
  ],
  [
    'a segment that is no UUID',
    { audienceType: 'SEGMENT', segmentId: 'x' },
    [['segmentId', 'invalid_string']],
  ],
  ['a body that cannot be parsed', { body: '{{#x}}' }, [['body', 'custom']]],
  ['a subject of two lines', { subject: 'a\nb' }, [['subject', 'invalid_string']]],
]

scenario('POST /campaigns', start, (test) => {
  test('answers with the whole campaign, a MARKETING draft', async (service) => {
    const { status, body } = await service.as().post('/campaigns', campaignBody(service.project))
    assert.is(status, 201)
    assert.is(body.success, true)
    const { id, createdAt, updatedAt, ...rest } = body.data
    assert.match(id, /^[0-9a-f-]{36}$/)
    assert.is(createdAt, updatedAt)
    assert.equal(rest, {
      ...campaignBody(service.project),
      projectId: service.project.id,
      description: null,
      fromName: null,
      replyTo: null,
      type: 'MARKETING',
      status: 'DRAFT',
      paused: false,
      segmentId: null,
      audienceCondition: null,
      scheduledFor: null,
      totalRecipients: 0,
      sentCount: 0,
      deliveredCount: 0,
      openedCount: 0,
      clickedCount: 0,
      bouncedCount: 0,
      sentAt: null,
    })
  })

  for (const [what, fields, errors] of BAD) {
    test(`refuses ${what}`, async (service) => {
      const answer = await service.as().post('/campaigns', campaignBody(service.project, fields))
      assertRefused(answer, 422, 'VALIDATION_ERROR')
      assert.equal(fieldErrors(answer), errors)
    })
  }

  test('refuses a sender whose domain is not verified, and a segment that is not there', async (service) => {
    const unverified = campaignBody(service.project, { from: 'news@elsewhere.example' })
    assertRefused(await service.as().post('/campaigns', unverified), 403, 'INTERNAL_SERVER_ERROR')
    const unknown = campaignBody(service.project, { audienceType: 'SEGMENT', segmentId: randomUUID() })
    assertRefused(await service.as().post('/campaigns', unknown), 404, 'SEGMENT_NOT_FOUND')
  })

  test('keeps only what its audience needs', async (service) => {
    const fields = { audienceCondition: CONDITION, segmentId: randomUUID() }
    const all = await newCampaign(service, fields)
    assert.equal([all.segmentId, all.audienceCondition], [null, null])
    const filtered = await newCampaign(service, { ...fields, audienceType: 'FILTERED' })
    assert.equal([filtered.segmentId, filtered.audienceCondition], [null, CONDITION])
  })
})

scenario('A campaign', start, (test) => {
  test('is replaced by PUT: what is left out becomes null or its default', async (service) => {
    const { id } = await newCampaign(service, {
      description: 'A note',
      fromName: 'News',
      type: 'HEADLESS',
      audienceType: 'FILTERED',
      audienceCondition: CONDITION,
    })
    const replaced = await service
      .as()
      .call('PUT', `/campaigns/${id}`, campaignBody(service.project, { name: 'New' }))
    assert.is(replaced.status, 200, replaced.text)
    const { name, description, fromName, type, audienceType, audienceCondition } = replaced.body.data
    assert.equal(
      { name, description, fromName, type, audienceType, audienceCondition },
      {
        name: 'New',
        description: null,
        fromName: null,
        type: 'MARKETING',
        audienceType: 'ALL',
        audienceCondition: null,
      },
    )
    const partly = await service.as().call('PUT', `/campaigns/${id}`, { name: 'Newer' })
    assertRefused(partly, 422, 'VALIDATION_ERROR')
    assert.equal((await service.as().get(`/campaigns/${id}`)).body, replaced.body)
  })

  test('is duplicated as a draft with its audience', async (service) => {
    const campaign = await newCampaign(service, { audienceType: 'FILTERED', audienceCondition: CONDITION })
    const { status, body } = await service.as().post(`/campaigns/${campaign.id}/duplicate`)
    assert.is(status, 201)
    const { id, createdAt, updatedAt, ...rest } = body.data
    assert.is.not(id, campaign.id)
    const { id: _id, createdAt: _at, updatedAt: _since, ...original } = campaign
    assert.equal(rest, { ...original, name: 'Spring sale (Copy)' })
    assert.is(createdAt, updatedAt)
  })

  test('is deleted, and then not found by anybody', async (service) => {
    const { id } = await newCampaign(service)
    const deleted = await service.as().delete(`/campaigns/${id}`)
    assert.equal([deleted.status, deleted.text], [204, ''])
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', '/send'],
      ['POST', '/cancel'],
      ['POST', '/duplicate'],
      ['GET', '/stats'],
    ]) {
      const body = method === 'PUT' ? campaignBody(service.project) : method === 'POST' ? {} : undefined
      const answer = await service.as().call(method ?? '', `/campaigns/${id}${path}`, body)
      assertRefused(answer, 404, 'CAMPAIGN_NOT_FOUND')
    }
    const { body } = await service.as().get('/campaigns?pageSize=100')
    assert.not(body.data.some((one: { id: string }) => one.id === id))
  })

  test('belongs to its project alone', async (service) => {
    const { id } = await newCampaign(service)
    const project = await service.newProject('Other')
    const answer = await service.as(project).get(`/campaigns/${id}`)
    assertRefused(answer, 404, 'CAMPAIGN_NOT_FOUND')
  })

  test('is found by status, name, subject and sender, in any case', async (service) => {
    const project = await service.newProject('Lists')
    const autumn = await newCampaign(
      service,
      { name: 'Autumn', subject: 'Leaves', from: `a@${project.domain}` },
      project,
    )
    const winter = await newCampaign(
      service,
      { name: 'Winter', subject: 'Snow', from: `b@${project.domain}` },
      project,
    )
    const found = async (query: string) => {
      const { status, body } = await service.as(project).get(`/campaigns?${query}`)
      assert.is(status, 200)
      return body.data.map(({ id }: { id: string }) => id)
    }
    assert.equal(await found(''), [winter.id, autumn.id])
    assert.equal(await found('sort=name&dir=asc'), [autumn.id, winter.id])
    assert.equal(await found('search=AUT'), [autumn.id])
    assert.equal(await found('search=snow'), [winter.id])
    assert.equal(await found(`search=a@${project.domain}`), [autumn.id])
    assert.equal(await found('status=SENT'), [])
    assert.equal(await found('status=DRAFT&pageSize=1&page=2'), [autumn.id])
    assert.is((await service.as(project).get('/campaigns?status=DONE')).status, 400)
  })

  test('is scheduled for any time that can be read, the newest counts', async (service) => {
    await newContacts(service, 1)
    const { id } = await newCampaign(service)
    for (const scheduledFor of ['', 'tomorrow', '2020-01-01T00:00:00Z']) {
      assertRefused(await service.as().post(`/campaigns/${id}/send`, { scheduledFor }), 400, 'BAD_REQUEST')
    }
    const first = await service.as().post(`/campaigns/${id}/send`, { scheduledFor: '2040-01-02' })
    const { message, ...answer } = first.body
    assert.match(message, '2040-01-02T00:00:00.000Z')
    assert.equal(answer, {
      success: true,
      data: { id, name: 'Spring sale', status: 'SCHEDULED', scheduledFor: '2040-01-02T00:00:00.000Z' },
    })
    const again = await service.as().post(`/campaigns/${id}/send`, {
      scheduledFor: '1 May 2041 08:00 UTC',
    })
    assert.is(again.body.data.scheduledFor, '2041-05-01T08:00:00.000Z')
    assert.is((await service.as().delete(`/campaigns/${id}`)).status, 409)
    assert.is((await service.as().call('PUT', `/campaigns/${id}`, campaignBody(service.project))).status, 200)
    const cancelled = await service.as().post(`/campaigns/${id}/cancel`)
    assert.is(cancelled.body.data.status, 'CANCELLED')
  })

  test('is not sent when nobody would get it', async (service) => {
    const project = await service.newProject('Empty')
    const send = async (id: string) => (await service.as(project).post(`/campaigns/${id}/send`, {})).status
    const marketing = await newCampaign(service, {}, project)
    assert.is(await send(marketing.id), 400)
    await newContacts(service, 1, { subscribed: false }, project)
    assert.is(await send(marketing.id), 400)
    const transactional = await newCampaign(service, { type: 'TRANSACTIONAL' }, project)
    assert.is(await send(transactional.id), 200)
    assert.is(await send(transactional.id), 409)
    assertRefused(await service.as().post('/campaigns/x/send', {}), 422, 'VALIDATION_ERROR')
  })

  test('keeps its segment, events and fields from being deleted until it is over', async (service) => {
    const key = service.project.secret
    const segment = await service.call('POST', '/segments', {
      key,
      body: { name: 'Pro', condition: CONDITION },
    })
    const { id } = await newCampaign(service, { audienceType: 'SEGMENT', segmentId: segment.body.id })
    const path = `/segments/${segment.body.id}`
    assert.is((await service.call('DELETE', path, { key })).status, 409)
    const usage = await service.call('GET', '/contacts/fields/data.plan/usage', { key })
    assert.is(usage.status, 200, usage.text)
    await service.as().post(`/campaigns/${id}/send`, { scheduledFor: '2040-01-01' })
    assert.is((await service.call('DELETE', path, { key })).status, 409)
    await service.as().post(`/campaigns/${id}/cancel`)
    assert.is((await service.call('DELETE', path, { key })).status, 204)
    assert.is((await service.as().get(`/campaigns/${id}`)).body.data.segmentId, null)
  })
})
