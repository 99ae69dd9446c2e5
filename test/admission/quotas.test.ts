import * as assert from 'uvu/assert'
import { recordEventName } from '../../src/admission/recorded-names.ts'
import type { Ctx } from '../../src/ctx.ts'
import { deleteFieldsJob } from '../../src/features/contact-fields/delete-fields.job.ts'
import { recordFieldNames } from '../../src/features/contacts/field-names.ts'
import type { JsonObject } from '../../src/lib/json.ts'
import { imported } from '../features/contact-jobs/job-support.ts'
import { formWith } from '../features/uploads/upload-support.ts'
import { MINUTE } from '../support/clock.ts'
import { IMAGES } from '../support/images.ts'
import { assertGraphQLRefused, assertRefused } from '../support/refusals.ts'
import { scenario } from '../support/scenario.ts'
import {
  type Answer,
  type Body,
  type Project,
  type Service,
  startService,
  until,
} from '../support/service.ts'
import { workThrough } from '../support/work.ts'

const LIMIT = 3

const start = () =>
  startService({
    ...{ ROLES: 'http', QUOTA_SEGMENTS: '3', QUOTA_TEMPLATES: '3', QUOTA_DOMAINS: '3' },
    ...{ QUOTA_EVENT_NAMES: '3', QUOTA_CONTACT_FIELDS: '3', QUOTA_IMAGES: '3', QUOTA_IMAGE_MB: '1' },
  })

/** Makes the n-th thing, through one door. */
type Make = (service: Service, project: Project, n: number) => Promise<Answer>

const post =
  (
    path: string,
    bodyOf: (n: number, project: Project) => object,
    key: 'public' | 'secret' = 'secret',
  ): Make =>
  ({ as }, project, n) =>
    as(project[key]).post(path, bodyOf(n, project))

const mutate =
  (field: string, type: string, inputOf: (n: number, project: Project) => object, selection: string): Make =>
  ({ as }, project, n) =>
    as(project).graphql(`mutation ($input: ${type}!) { ${field}(input: $input) { ${selection} } }`, {
      input: inputOf(n, project),
    })

const remove =
  (path: string) =>
  async ({ as }: Service, project: Project, made: string) => {
    const answer = await as(project).delete(`${path}/${made}`)
    assert.ok(answer.status < 300, answer.text)
  }

type Case = {
  quota: string
  /** How a refusal names what there are too many of, what to do about it, and which variable raises it. */
  told: RegExp
  room: RegExp
  variable: string
  table: string
  /** Of a project that has just been made. */
  already?: number
  doors: Record<string, Make>
  /** How the first thing that was made is called by `remove`. */
  nameOf: (answer: Body, n: number) => string
  remove: (service: Service, project: Project, made: string) => Promise<void>
  /** Names that are there already can be used beyond the quota. */
  reusable?: boolean
}

const segment = (n: number) => ({ name: `Segment ${n}`, type: 'STATIC' })
const template = (n: number, { domain }: Project) => ({
  ...{ name: `Template ${n}`, subject: 's', body: 'b', from: `a@${domain}` },
})
const track = (n: number) => ({ email: 'ada@example.org', event: `event ${n}` })
const contact = (n: number) => ({ email: 'ada@example.org', data: { [`field ${n}`]: n } })
const message = (n: number, { domain }: Project) => ({
  ...{ to: 'ada@example.org', from: `a@${domain}`, subject: 's', body: 'b', data: { [`field ${n}`]: n } },
})
const domain = (n: number, { id }: Project) => ({ domain: `d${n}.${id}.example` })

async function deleteField(service: Service, project: Project, field: string): Promise<void> {
  const deleting = remove('/contacts/fields')(service, project, field)
  await until('the deletion to be asked for', async () => {
    return (await deleteFieldsJob.pending(service.ctx())).length > 0
  })
  await workThrough(service, deleteFieldsJob)
  await deleting
}

const uploadDoors = (image: Buffer): Record<string, Make> => ({
  'POST /uploads/image': ({ as }, { secret }) => as(secret).post('/uploads/image', formWith(image)),
  uploadImage: mutate('uploadImage', 'UploadImageInput', () => ({ image: image.toString('base64') }), 'key'),
})

const idOf = ({ id }: Body) => id
/** What comes after the end of a PNG is looked at by nobody. */
const LARGE = Buffer.concat([IMAGES.png, Buffer.alloc(400 * 1024)])

const CASES: Case[] = [
  {
    ...{ quota: 'segments', told: /3 segments/, room: /DELETE \/segments\/:id/, variable: 'QUOTA_SEGMENTS' },
    table: 'segments',
    doors: {
      'POST /segments': post('/segments', segment),
      createSegment: mutate('createSegment', 'CreateSegmentInput', segment, 'id'),
    },
    ...{ nameOf: idOf, remove: remove('/segments') },
  },
  {
    ...{
      quota: 'templates',
      told: /3 templates/,
      room: /DELETE \/templates\/:id/,
      variable: 'QUOTA_TEMPLATES',
    },
    table: 'templates',
    doors: {
      'POST /templates': post('/templates', template),
      createTemplate: mutate('createTemplate', 'CreateTemplateInput', template, 'id'),
    },
    ...{ nameOf: idOf, remove: remove('/templates') },
  },
  {
    ...{
      quota: 'domains',
      told: /3 sender domains/,
      room: /DELETE \/domains\/:id/,
      variable: 'QUOTA_DOMAINS',
    },
    ...{ table: 'domains', already: 1 },
    doors: {
      'POST /domains': post('/domains', domain),
      addDomain: mutate('addDomain', 'AddDomainInput', domain, 'id'),
    },
    ...{ nameOf: idOf, remove: remove('/domains') },
  },
  {
    ...{ quota: 'eventNames', told: /3 names of events/, room: /DELETE \/events\/:eventName/ },
    ...{ variable: 'QUOTA_EVENT_NAMES', table: 'event_names' },
    doors: {
      'POST /v1/track': post('/v1/track', track, 'public'),
      trackEvent: ({ as }, project, n) =>
        as(project.public).graphql(
          'mutation ($input: TrackEventInput!) { trackEvent(input: $input) { event } }',
          { input: track(n) },
        ),
      'POST /events/track': post('/events/track', track),
      trackContactEvent: mutate('trackContactEvent', 'TrackContactEventInput', track, 'event'),
    },
    ...{
      nameOf: (_answer, n) => encodeURIComponent(`event ${n}`),
      remove: remove('/events'),
      reusable: true,
    },
  },
  {
    ...{ quota: 'contactFields', told: /3 custom fields/, room: /DELETE \/contacts\/fields\/:field/ },
    ...{ variable: 'QUOTA_CONTACT_FIELDS', table: 'contact_fields' },
    doors: {
      'POST /contacts': post('/contacts', contact),
      'PATCH /contacts/:id': async ({ as }, { secret }, n) => {
        const { body } = await as(secret).post('/contacts', { email: 'ada@example.org' })
        return as(secret).patch(`/contacts/${body.id}`, { data: contact(n).data })
      },
      'POST /v1/track': post('/v1/track', (n) => ({ ...contact(n), event: 'seen' }), 'public'),
      'POST /v1/send': post('/v1/send', message),
      createContact: mutate('createContact', 'CreateContactInput', contact, 'id'),
      sendEmail: mutate('sendEmail', 'SendEmailInput', message, 'timestamp'),
    },
    nameOf: (_answer, n) => encodeURIComponent(`field ${n}`),
    ...{ remove: deleteField, reusable: true },
  },
  {
    ...{ quota: 'images', told: /3 uploaded images/, room: /DELETE \/uploads\/image\/:key/ },
    ...{ variable: 'QUOTA_IMAGES', table: 'uploads', doors: uploadDoors(IMAGES.png) },
    ...{ nameOf: ({ key }) => key, remove: remove('/uploads/image') },
  },
]

/** What an answer holds, whichever door it came through. */
const resultOf = ({ body, text }: Answer): Body => {
  assert.not.ok(body.errors, text)
  assert.not.ok(body.error, text)
  return body.data && Object.keys(body).length === 1 ? Object.values(body.data)[0] : body
}

const isRefused = ({ body }: Answer): boolean => Boolean(body.errors ?? body.error)

/** Checks the documented refusal; returns its field errors. */
function assertQuota(answer: Answer, { quota, told, room, variable }: Case): Body[] {
  const isGraphQL = Array.isArray(answer.body.errors)
  const error = isGraphQL
    ? { ...assertGraphQLRefused(answer, 422, 'VALIDATION_ERROR'), message: answer.body.errors[0].message }
    : assertRefused(answer, 422, 'VALIDATION_ERROR')
  assert.match(error.message, told)
  assert.equal(error.details, { reason: 'quota_reached', quota, limit: LIMIT })
  assert.match(error.suggestion, room)
  assert.match(error.suggestion, variable)
  assert.ok(error.errors.length > 0)
  for (const { field, code, message: text } of error.errors) {
    assert.ok(field)
    assert.is(code, 'custom')
    assert.match(text, /quota/)
  }
  return error.errors
}

const countOf = async ({ sql }: Service, table: string, { id }: Project): Promise<number> =>
  (await sql(`select count(*)::int as count from ${table} where project_id = $1`, [id]))[0]?.count

/** Fills the quota through one door after the other; returns how the first thing is called. */
async function fill(
  service: Service,
  project: Project,
  { doors, already = 0, nameOf }: Case,
): Promise<string> {
  const made: string[] = []
  const makes = Object.values(doors)
  for (let n = already; n < LIMIT; n += 1) {
    const make = makes[n % makes.length]
    assert.ok(make)
    made.push(nameOf(resultOf(await make(service, project, n)), n))
  }
  return made[0] ?? ''
}

scenario('A quota', start, (test) => {
  for (const one of CASES) {
    const { quota, doors, table } = one

    test(`of ${quota} is full at its limit and refuses what is over it, by every door`, async (service) => {
      const project = await service.newProject()
      await fill(service, project, one)
      assert.is(await countOf(service, table, project), LIMIT)
      for (const [door, make] of Object.entries(doors)) {
        assertQuota(await make(service, project, 100), one)
        assert.is(await countOf(service, table, project), LIMIT, door)
        if (one.reusable) resultOf(await make(service, project, 1))
      }
      const other = await service.newProject()
      for (const make of Object.values(doors).slice(0, 1)) resultOf(await make(service, other, 100))
    })

    test(`of ${quota} has room again after a deletion`, async (service) => {
      const project = await service.newProject()
      const first = await fill(service, project, one)
      const [make] = Object.values(doors)
      assert.ok(make)
      assertQuota(await make(service, project, 100), one)
      await one.remove(service, project, first)
      resultOf(await make(service, project, 101))
      assertQuota(await make(service, project, 102), one)
    })

    test(`of ${quota} is exact when many ask at once`, async (service) => {
      const project = await service.newProject()
      const makes = Object.values(doors)
      const asked = Array.from({ length: 12 }, (_, n) => makes[n % makes.length]?.(service, project, n))
      const answers = (await Promise.all(asked)).filter((answer) => answer !== undefined)
      assert.is(answers.length, 12)
      for (const answer of answers.filter(isRefused)) assertQuota(answer, one)
      assert.is(answers.filter((answer) => !isRefused(answer)).length, LIMIT - (one.already ?? 0))
      assert.is(await countOf(service, table, project), LIMIT)
    })
  }

  const bytes: Case = {
    ...{ quota: 'imageBytes', told: /1 MB of uploaded images/, room: /DELETE \/uploads\/image\/:key/ },
    ...{ variable: 'QUOTA_IMAGE_MB', table: 'uploads', doors: uploadDoors(LARGE) },
    ...{ nameOf: ({ key }) => key, remove: remove('/uploads/image') },
  }

  test('of bytes of images counts all of them, and keeps no file that it refuses', async (service) => {
    const project = await service.newProject()
    const makes = Object.values(bytes.doors)
    const made = []
    for (const make of [makes[0], makes[1]])
      made.push(resultOf((await make?.(service, project, 0)) as Answer))
    for (const make of makes) {
      const answer = await make(service, project, 0)
      const error = Array.isArray(answer.body.errors)
        ? assertGraphQLRefused(answer, 422, 'VALIDATION_ERROR')
        : assertRefused(answer, 422, 'VALIDATION_ERROR')
      assert.equal(error.details, { reason: 'quota_reached', quota: 'imageBytes', limit: 1 })
      assert.match(error.suggestion, 'QUOTA_IMAGE_MB')
    }
    await bytes.remove(service, project, made[0].key)
    assert.is((await service.call('GET', `/uploads/${made[0].key}`)).status, 404)
    assert.ok(makes[0])
    resultOf(await makes[0](service, project, 0))
    const { body } = await service.as(project).get('/uploads/image')
    assert.is(body.total, 2)
    assert.is(body.data[1].key, made[1].key)
  })

  test('of templates holds for duplicates', async (service) => {
    const project = await service.newProject()
    const one = CASES.find(({ quota }) => quota === 'templates')
    assert.ok(one)
    const id = await fill(service, project, one)
    assertQuota(await service.as(project).post(`/templates/${id}/duplicate`), one)
    assertQuota(await service.as(project).graphql(`mutation { duplicateTemplate(id: "${id}") { id } }`), one)
  })

  test('of event names has the entries and exits of tracked segments in it', async (service) => {
    const project = await service.newProject()
    const one = CASES.find(({ quota }) => quota === 'eventNames')
    assert.ok(one)
    const make = (n: number, trackMembership: boolean) =>
      service.as(project).post('/segments', { ...segment(n), trackMembership })
    const { id } = resultOf(await make(1, false))
    resultOf(await make(2, true))
    assert.is(await countOf(service, 'event_names', project), 2)
    assert.is(assertQuota(await make(3, true), one)[0].field, 'trackMembership')
    assert.is(await countOf(service, 'segments', project), 2, 'nothing is left of it')
    const switchOn = { key: project.secret, body: { trackMembership: true } }
    assertQuota(await service.call('PATCH', `/segments/${id}`, switchOn), one)
  })

  test('of names costs nothing for those that the process knows', async (service) => {
    const project = await service.newProject()
    const ctx = service.ctx(project.id)
    const statements: string[] = []
    const counting: Ctx = {
      ...ctx,
      sql: (query, params) => {
        statements.push(query.name)
        return ctx.sql(query, params)
      },
    }
    const send = async (event: string, data: JsonObject) => {
      statements.length = 0
      await recordFieldNames(counting, data)
      await recordEventName(counting, event, 'event')
      return [...statements]
    }
    assert.equal(await send('seen', { plan: 1 }), ['missing-contact_fields', 'missing-event_names'])
    assert.equal(await send('seen', { plan: 2 }), [])
    assert.equal(await send('bought', { plan: 2 }), ['missing-event_names'])
    service.clock.advance(11 * MINUTE)
    assert.equal(await send('seen', { plan: 3 }), ['missing-contact_fields', 'missing-event_names'])
  })

  test('of custom fields refuses all fields of a request or none', async (service) => {
    const project = await service.newProject()
    const one = CASES.find(({ quota }) => quota === 'contactFields')
    assert.ok(one)
    const set = (...names: string[]) =>
      service.as(project).post('/contacts', {
        email: 'ada@example.org',
        data: Object.fromEntries(names.map((name) => [name, 1])),
      })
    resultOf(await set('a', 'b'))
    const refused = assertQuota(await set('a', 'c', 'd'), one)
    assert.equal(
      refused.map(({ field }) => field),
      ['data.c', 'data.d'],
    )
    resultOf(await set('b', 'c'))
    assert.equal(resultOf(await set('a')).data, { a: 1, b: 1, c: 1 })
  })

  test('of custom fields is a bad row of an import', async (service) => {
    const project = await service.newProject()
    await service.as(project).post('/contacts', { email: 'x@example.org', data: { a: 1, b: 1 } })
    const csv =
      'email,a,c,d\nada@example.org,1,,\ngrace@example.org,,1,\nalan@example.org,,,1\njoan@example.org,,1,1\n'
    const { result } = await imported(service, csv, project)
    assert.is(result.created, 2)
    assert.is(result.failed, 2)
    assert.equal(
      result.errors.map(({ row, email }: Body) => [row, email]),
      [
        [4, 'alan@example.org'],
        [5, 'joan@example.org'],
      ],
    )
    assert.match(result.errors[0].error, /quota of custom fields/)
    assert.is(await countOf(service, 'contact_fields', project), 3)
  })
})

const unlimited = () =>
  startService({ ROLES: 'http', QUOTA_SEGMENTS: '0', QUOTA_EVENT_NAMES: '0', QUOTA_CONTACT_FIELDS: '0' })

scenario('A quota of 0', unlimited, (test) => {
  test('is none', async (service) => {
    const { project } = service
    for (const { quota, doors } of CASES) {
      if (!['segments', 'eventNames', 'contactFields'].includes(quota)) continue
      for (let n = 0; n < LIMIT + 2; n += 1) {
        for (const make of Object.values(doors)) resultOf(await make(service, project, n))
      }
    }
  })
})
