import * as assert from 'uvu/assert'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import {
  type Answer,
  type Body,
  type Project,
  type Service,
  startService,
  until,
} from '../../support/service.ts'
import { graphqlValue, newContact } from '../contacts/contact-support.ts'

const HOUR_MS = 3_600_000

const start = () => startService({ ROLES: 'http' })

type Field = { field: string; type: string; coverage: number; standard: boolean }

const fieldsAnswer = (service: Service, project: Project): Promise<Answer> =>
  service.as(project).get('/contacts/fields')

/** The custom fields, which come after the standard ones. */
async function customFields(service: Service, project: Project): Promise<Field[]> {
  const { status, body, text } = await fieldsAnswer(service, project)
  assert.is(status, 200, text)
  assert.is(body.count, body.fields.length)
  return body.fields.slice(4)
}

const namesOf = (fields: Field[]) => fields.map(({ field }) => field)

async function valuesOf(service: Service, project: Project, path: string): Promise<Body[]> {
  const { status, body, text } = await service.as(project).get(`/contacts/fields/${path}`)
  assert.is(status, 200, text)
  assert.equal(Object.keys(body).toSorted(), ['count', 'field', 'limit', 'values'])
  assert.is(body.count, body.values.length)
  return body.values
}

/** A project in which there is a contact for each of the data. */
async function projectWith(service: Service, ...all: object[]): Promise<Project> {
  const project = await service.newProject()
  for (const data of all) await newContact(service, { data }, project)
  return project
}

scenario('GET /contacts/fields', start, (test) => {
  test('has the standard fields first, also without contacts', async (service) => {
    const { body } = await fieldsAnswer(service, await service.newProject())
    const standard = (field: string, type: string) => ({ field, type, coverage: 100, standard: true })
    assert.equal(body, {
      fields: [
        standard('email', 'string'),
        standard('subscribed', 'boolean'),
        standard('createdAt', 'date'),
        standard('updatedAt', 'date'),
      ],
      count: 4,
    })
  })

  test('says how many contacts have a custom field, the most frequent first', async (service) => {
    const project = await projectWith(
      service,
      { plan: 'a', n: 1 },
      { plan: 'b' },
      { plan: 'c', b: true, a: 1 },
    )
    const custom = (field: string, type: string, coverage: number) => ({
      field,
      type,
      coverage,
      standard: false,
    })
    assert.equal(await customFields(service, project), [
      custom('data.plan', 'string', 100),
      custom('data.a', 'number', 33.3),
      custom('data.b', 'boolean', 33.3),
      custom('data.n', 'number', 33.3),
    ])
  })

  test('tells the type that most values have; dates are those of filters', async (service) => {
    const project = await projectWith(
      service,
      {
        mixed: 1,
        dates: '2026-03-04',
        some: '2026-03-04',
        list: [1],
        object: { a: 1 },
        no: '2026-02-30',
        x: 'a',
      },
      { mixed: 'x', dates: '2026-03-04T05:06:07.089+01:00', some: 'soon', x: 7 },
      { mixed: 2, x: '2026-03-04' },
    )
    const types = (await customFields(service, project)).map(({ field, type }) => [field.slice(5), type])
    assert.equal(Object.fromEntries(types), {
      mixed: 'number',
      x: 'string',
      dates: 'date',
      some: 'string',
      list: 'array',
      object: 'object',
      no: 'string',
    })
  })

  test('names keys as filters do: dots are escaped, blanks and other scripts are not', async (service) => {
    const keys = ['a.b', 'first name', '名前', '__proto__', 'a\\b', 'data.x', 'constructor', '%', '']
    const data = JSON.stringify(Object.fromEntries(keys.map((key) => [key, 1])))
    const project = await service.newProject()
    const body = `{"email":"ada@example.org","data":${data}}`
    const made = await service.as(project).post('/contacts', body)
    assert.is(made.status, 201, made.text)
    assert.equal(
      namesOf(await customFields(service, project)).toSorted(),
      [
        'data.',
        'data.%',
        'data.__proto__',
        'data.a\\.b',
        'data.a\\\\b',
        'data.constructor',
        'data.data\\.x',
        'data.first name',
        'data.名前',
      ].toSorted(),
    )
    for (const [field, key] of [
      ['a.b', 'a.b'],
      ['data.a\\.b', 'a.b'],
      ['data.data\\.x', 'data.x'],
      ['first name', 'first name'],
      ['data.名前', '名前'],
      ['__proto__', '__proto__'],
      ['%', '%'],
    ]) {
      const values = await valuesOf(service, project, `${encodeURIComponent(field ?? '')}/values`)
      assert.equal(values, [1], key)
    }
  })

  test('leaves out what is null, and other projects', async (service) => {
    const project = await projectWith(service, { plan: 'a' })
    await projectWith(service, { theirs: 1 })
    await service.sql(`update contacts set data = '{"plan": "a", "gone": null}' where project_id = $1`, [
      project.id,
    ])
    assert.equal(namesOf(await customFields(service, project)), ['data.plan'])
  })

  test('is the same in GraphQL', async (service) => {
    await newContact(service, { data: { plan: 'pro' } })
    const query = '{ contactFields { fields { field type coverage standard } count } }'
    assert.equal(await graphqlValue(service, query), (await fieldsAnswer(service, service.project)).body)
  })
})

scenario('GET /contacts/fields/:field/values', start, (test) => {
  test('has distinct values, the most frequent first; objects and lists are left out', async (service) => {
    const values = ['b', 'a', 'b', 7, '7', true, 7, 7, { a: 1 }, [1], false, 1.5]
    const project = await projectWith(service, ...values.map((plan) => ({ plan })), {})
    for (const field of ['plan', 'data.plan']) {
      const { body } = await service.as(project).get(`/contacts/fields/${field}/values`)
      assert.is(body.field, field)
      assert.is(body.limit, 100)
      assert.equal(body.values.slice(0, 2), [7, 'b'])
      assert.equal(new Set(body.values.slice(2)), new Set(['a', '7', 1.5, true, false]))
    }
    assert.equal(await valuesOf(service, project, 'nobody/values'), [])
    assert.equal(await valuesOf(service, await service.newProject(), 'plan/values'), [])
  })

  test('can be searched for a part, in any case; % and _ are themselves', async (service) => {
    const values = ['50% off', '50 off', 'a_b', 'aXb', 'Back\\slash', 'ZÜRICH', 12, true]
    const project = await projectWith(service, ...values.map((plan) => ({ plan })))
    for (const [search, found] of [
      ['%', ['50% off']],
      ['_', ['a_b']],
      ['A_B', ['a_b']],
      ['axb', ['aXb']],
      ['\\', ['Back\\slash']],
      ['ZÜR', ['ZÜRICH']],
      ['OFF', ['50 off', '50% off']],
      ['2', [12]],
      ['TRU', [true]],
      ['nothing', []],
      ['', values],
    ] as const) {
      const path = `plan/values?search=${encodeURIComponent(search)}`
      const got: unknown[] = await valuesOf(service, project, path)
      assert.equal(new Set(got), new Set<unknown>(found), search)
    }
  })

  test('has at most as many as asked for, 200 at the most', async (service) => {
    const project = await service.newProject()
    await service.sql(
      `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
       select $1, gen_random_uuid(), 'p' || n || '@example.org', true, jsonb_build_object('n', n), now(), now()
       from generate_series(1, 250) n`,
      [project.id],
    )
    assert.is((await valuesOf(service, project, 'n/values')).length, 100)
    assert.is((await valuesOf(service, project, 'n/values?limit=3')).length, 3)
    assert.is((await valuesOf(service, project, 'n/values?limit=1000')).length, 200)
    const { body } = await service.as(project).get('/contacts/fields/n/values?limit=1000')
    assert.is(body.limit, 200)
  })

  test('refuses bad limits and impossible names', async (service) => {
    const get = (path: string) => service.as().get(`/contacts/fields/${path}`)
    for (const limit of ['0', '-1', 'x', '1.5', '']) {
      assertRefused(await get(`plan/values?limit=${limit}`), 400, 'BAD_REQUEST')
    }
    assertRefused(await get(`${'x'.repeat(1_001)}/values`), 400, 'BAD_REQUEST')
    assertRefused(await get('%00/values'), 404, 'RESOURCE_NOT_FOUND')
    assertRefused(await get('%zz/values'), 404, 'RESOURCE_NOT_FOUND')
    assertRefused(await get('plan/values?search=%00'), 422, 'VALIDATION_ERROR')
  })

  test('is the same in GraphQL', async (service) => {
    await newContact(service, { data: { plan: 'pro' } })
    const query = `query ($field: String!, $limit: Int) {
      contactFieldValues(field: $field, limit: $limit) { field values count limit } }`
    const { body } = await service.as().get('/contacts/fields/plan/values')
    assert.equal(await graphqlValue(service, query, { field: 'plan' }), body)
    for (const variables of [{ field: 'plan', limit: 0 }]) {
      const answer = await service.as().graphql(query, variables)
      assertGraphQLRefused(answer, 400, 'BAD_REQUEST')
    }
    const broken = await service.as().graphql(query, { field: 'a\0' })
    assertGraphQLRefused(broken, 422, 'VALIDATION_ERROR')
  })
})

scenario(
  'Fields of many contacts',
  () => startService(),
  (test) => {
    test('are counted in a sample every hour; what it misses is known by name', async (service) => {
      const { sql } = service
      const project = await service.newProject()
      await newContact(service, { data: { rare: '2026-03-04', plan: 'first' } }, project)
      // Ids as the service makes them: the time, then chance.
      await sql(
        `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
       select $1, ('019' || substr(md5(n::text), 1, 5) || '-' || substr(md5(n::text), 6, 4) || '-7'
           || substr(md5(n::text), 10, 3) || '-8' || substr(md5(n::text), 13, 3) || '-'
           || substr(md5(n::text || 'x'), 1, 12))::uuid,
         'p' || n || '@example.org', true,
         jsonb_build_object('all', n, 'plan', 'plan ' || n % 3)
           || case when n % 2 = 0 then '{"half": true}' else '{}' end::jsonb
           || case when n % 10 = 0 then '{"tenth": "x"}' else '{}' end::jsonb,
         now(), now()
       from generate_series(1, 12000) n`,
        [project.id],
      )
      await sql(
        `insert into contact_fields (project_id, name, type, created_at)
         select $1, unnest(array['all', 'half', 'tenth']), 'string', now()`,
        [project.id],
      )
      const fields = await customFields(service, project)
      const byName = new Map(fields.map((one) => [one.field, one]))
      const near = (name: string, expected: number) => {
        const { coverage } = byName.get(name) ?? { coverage: -1 }
        assert.ok(Math.abs(coverage - expected) <= 4, `${name} ${coverage}`)
      }
      near('data.all', 100)
      near('data.half', 50)
      near('data.tenth', 10)
      assert.is(byName.get('data.all')?.type, 'number')
      await sql(`update contacts set data = data || '{"tenth": true}' where project_id = $1`, [project.id])
      assert.equal(await customFields(service, project), fields, 'nothing is counted at a call')
      service.clock.advance(HOUR_MS + 1)
      await until('it is counted again', async () => {
        const [most] = (await customFields(service, project)).filter(({ field }) => field === 'data.tenth')
        return most?.coverage === 100 && most.type === 'boolean'
      })
      const rare = byName.get('data.rare')
      assert.is(rare?.type, 'date')
      assert.ok((rare?.coverage ?? -1) <= 0.1)
      assert.equal(
        new Set(namesOf(fields)),
        new Set(['data.all', 'data.plan', 'data.half', 'data.tenth', 'data.rare']),
      )
      const plans: unknown[] = await valuesOf(service, project, 'plan/values?search=plan')
      assert.equal(plans.toSorted(), ['plan 0', 'plan 1', 'plan 2'])
      const { body } = await service.as(project).get('/contacts/fields/half/usage')
      assert.is(body.contactCount, 6_000, 'counted, not estimated')
      const { body: rarely } = await service.as(project).get('/contacts/fields/rare/usage')
      assert.is(rarely.contactCount, 1)
      const { body: everybody } = await service.as(project).get('/contacts/fields/all/usage')
      // Estimated: who lacks the field may be in the sample.
      assert.ok(Math.abs(everybody.contactCount - 12_000) <= 60, String(everybody.contactCount))
      const { body: removed } = await service.as(project).delete('/contacts/fields/half')
      // A slow machine may not be done when the answer comes.
      assert.ok(removed.status === 'running' || removed.deletedFrom === 6_000, JSON.stringify(removed))
      await until('the field is gone', async () => {
        const names = namesOf(await customFields(service, project))
        return !names.includes('data.half')
      })
      const left = await service.sql(`select from contacts where project_id = $1 and data ? 'half'`, [
        project.id,
      ])
      assert.is(left.length, 0)
    })
  },
)
