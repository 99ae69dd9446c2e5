import * as assert from 'uvu/assert'
import { headerOf, surveyRows } from '../../../src/features/contact-jobs/import-rows.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { newContact } from '../contacts/contact-support.ts'
import { assertCounted, contactsOf, eventsOf, imported, keptInput } from './job-support.ts'

const start = () => startService({ ROLES: 'http' })

/** All that an unchanged contact keeps. */
const rowsOf = ({ sql }: Service, projectId: string) =>
  sql('select * from contacts where project_id = $1 order by email', [projectId])

scenario('Imported rows', start, (test) => {
  test('make contacts and merge into those there are', async (service) => {
    const project = await service.newProject()
    await newContact(
      service,
      { email: 'ada@example.org', data: { plan: 'free', city: 'London', n: 1 } },
      project,
    )
    await newContact(service, { email: 'same@example.org', data: { plan: 'pro' } }, project)
    const csv = [
      'Email;plan;city;age;vip;note',
      'ADA@example.org;pro;;36;TRUE;=1+1',
      'grace@example.org;;New York;007;no;+A1',
      'same@example.org;pro;;;;',
    ].join('\r\n')
    const { result } = await imported(service, csv, project)
    assert.equal(result, { totalRows: 3, created: 1, updated: 1, unchanged: 1, failed: 0, errors: [] })
    assert.equal(await contactsOf(service, project), {
      'ada@example.org': {
        subscribed: true,
        data: { plan: 'pro', city: 'London', n: 1, age: '36', vip: 'TRUE', note: '=1+1' },
      },
      'grace@example.org': {
        subscribed: true,
        data: { city: 'New York', age: '007', vip: 'no', note: '+A1' },
      },
      'same@example.org': { subscribed: true, data: { plan: 'pro' } },
    })
  })

  test('have the types of their columns: ZIP codes are text when one of them is', async (service) => {
    const project = await service.newProject()
    const lines = Array.from(
      { length: 1_200 },
      (_, n) => `p${n}@example.org,${n === 1_100 ? '01234' : 90210},${n},`,
    )
    const { id } = await imported(
      service,
      `email,zip,data.n,x\n${lines.join('\n')}\nbad,,,\n"q@example.org" ,1,2,`,
      project,
    )
    const contacts = await contactsOf(service, project)
    assert.equal(contacts['p0@example.org'].data, { zip: '90210', n: 0 })
    assert.equal(contacts['p1100@example.org'].data, { zip: '01234', n: 1_100 })
    assert.equal(contacts['q@example.org'].data, { zip: '1', n: 2 })
    const [row] = await service.sql('select survey from contact_jobs where id = $1', [id])
    assert.is(row?.survey, null)
  })

  test('change the subscription, and events say so, but not of new contacts', async (service) => {
    const project = await service.newProject()
    for (const [name, subscribed] of [
      ['stays', true],
      ['leaves', true],
      ['comes', false],
      ['kept', false],
    ]) {
      await newContact(service, { email: `${name}@example.org`, subscribed }, project)
    }
    const csv = `email,subscribed
stays@example.org,yes
leaves@example.org,unsubscribed
comes@example.org,1
kept@example.org,
new@example.org,no
default@example.org,
bad@example.org,perhaps
`
    const { result } = await imported(service, csv, project)
    const { errors, ...counts } = result
    assert.equal(counts, { totalRows: 7, created: 2, updated: 2, unchanged: 2, failed: 1 })
    assert.equal(errors, [
      { row: 8, email: 'bad@example.org', error: 'The value of "subscribed" must be true or false.' },
    ])
    const states = await service.sql<{ name: string; subscribed: boolean }>(
      `select split_part(email, '@', 1) as name, subscribed from contacts where project_id = $1`,
      [project.id],
    )
    assert.equal(Object.fromEntries(states.map(({ name, subscribed }) => [name, subscribed])), {
      comes: true,
      default: true,
      kept: false,
      leaves: false,
      new: false,
      stays: true,
    })
    assert.equal(await eventsOf(service, project), [
      { email: 'comes@example.org', name: 'contact.subscribed', source: 'import' },
      { email: 'leaves@example.org', name: 'contact.unsubscribed', source: 'import' },
    ])
    const [row] = await service.sql(
      `select count(*)::int as count from contacts c join events e
         on e.project_id = c.project_id and e.id = c.subscription_event_id and e.contact_id = c.id
       where c.project_id = $1`,
      [project.id],
    )
    assert.is(row?.count, 2)
  })

  test('imported again change nothing: no field, no time, no event', async (service) => {
    const project = await service.newProject()
    const lines = Array.from(
      { length: 1_100 },
      (_, index) => `p${index}@example.org,${index % 2},plan ${index % 7},${index}`,
    )
    const csv = `email,subscribed,plan,n\n${lines.join('\n')}\nbad,,,\n`
    await newContact(service, { email: 'p1@example.org', subscribed: false }, project)
    const first = await imported(service, csv, project)
    assert.is(first.result.created, 1_099)
    const [rows, events] = [await rowsOf(service, project.id), await eventsOf(service, project)]
    assert.is(events.length, 1)
    service.clock.advance(60_000)
    const { result } = await imported(service, csv, project)
    assert.equal(result, { ...first.result, created: 0, updated: 0, unchanged: 1_100 })
    assert.equal(await rowsOf(service, project.id), rows)
    assert.equal(await eventsOf(service, project), events)
  })

  test('of one address are merged in their order, in one chunk and across chunks', async (service) => {
    for (const between of [0, 600]) {
      const project = await service.newProject()
      const csv = [
        'email,a,b,c,subscribed',
        'ada@example.org,1,1,,no',
        ...Array.from({ length: between }, (_, index) => `p${index}@example.org,,,,`),
        ' Ada@Example.org ,2,,3,yes',
        'ada@example.org,2,1,3,yes',
        'ada@example.org,,,,',
      ].join('\n')
      const { result } = await imported(service, csv, project)
      const { 'ada@example.org': ada } = await contactsOf(service, project)
      assert.equal(ada, { subscribed: true, data: { a: 2, b: 1, c: 3 } })
      assert.equal([result.created, result.failed], [1 + between, 0])
      if (between === 0) assert.equal([result.updated, result.unchanged], [1, 2])
      const rows = await rowsOf(service, project.id)
      service.clock.advance(60_000)
      const again = await imported(service, csv, project)
      assert.is(again.result.unchanged, 4 + between, 'the second import changes nothing')
      assert.equal(await rowsOf(service, project.id), rows)
      assert.equal(await eventsOf(service, project), [])
    }
  })

  test('keep what only the first one of an address says, whatever its column is called', async (service) => {
    const project = await service.newProject()
    const csv = [
      'email,subscribed,a,constructor,__proto__',
      'ada@example.org,no,1,2,3',
      ...Array.from({ length: 600 }, (_, index) => `p${index}@example.org,,,,`),
      'ada@example.org,,4',
      'ada@example.org',
    ].join('\n')
    await imported(service, csv, project)
    const rows = await rowsOf(service, project.id)
    const { 'ada@example.org': ada } = await contactsOf(service, project)
    assert.is(ada.subscribed, false)
    assert.equal(Object.entries(ada.data).toSorted(), [
      ['__proto__', 3],
      ['a', 4],
      ['constructor', 2],
    ])
    const { result } = await imported(service, csv, project)
    assert.is(result.unchanged, 603)
    assert.equal(await rowsOf(service, project.id), rows)
  })

  test('that are bad are reported with their numbers, good ones are kept', async (service) => {
    const project = await service.newProject()
    const csv =
      'email,note\n\nnobody,x\nada@example.org,"two\nlines"\n,y\n,,\nb\0b@example.org,z\ngrace@example.org,a\0b\n'
    const { result, id } = await imported(service, csv, project)
    assert.equal(result, {
      totalRows: 5,
      created: 1,
      updated: 0,
      unchanged: 0,
      failed: 4,
      errors: [
        { row: 3, email: 'nobody', error: 'The email is not an email address.' },
        { row: 5, email: null, error: 'The email is missing.' },
        { row: 7, email: 'b\uFFFDb@example.org', error: 'The email is not an email address.' },
        {
          row: 8,
          email: 'grace@example.org',
          error: 'The value of "note" has characters that cannot be stored.',
        },
      ],
    })
    assert.equal(Object.keys(await contactsOf(service, project)), ['ada@example.org'])
    const { file, request } = await keptInput(service, id)
    assert.equal([file, request], [null, {}])
  })

  test('before one that cannot be read are kept; that one is reported', async (service) => {
    const project = await service.newProject()
    const { result } = await imported(
      service,
      'email,note\nada@example.org,a\ngrace@example.org,"b\nlinus@example.org,c\n',
      project,
    )
    const [error] = result.errors
    assert.equal([result.totalRows, result.created, result.failed, error.row], [2, 1, 1, 3])
    assert.match(error.error, /quote/)
  })

  test('are counted all, but only the first 100 bad ones are listed', async (service) => {
    const project = await service.newProject()
    const bad = Array.from({ length: 1_250 }, (_, index) => `bad${index},${'😀'.repeat(400)}`)
    const { result } = await imported(service, `email,x\nada@example.org,1\n${bad.join('\n')}\n`, project)
    assert.equal([result.totalRows, result.failed, result.created], [1_251, 1_250, 1])
    assert.equal(
      result.errors.map(({ row }: { row: number }) => row),
      Array.from({ length: 100 }, (_, index) => index + 3),
    )
  })

  test('may have addresses of any length in the report, not broken in the middle of a character', async (service) => {
    const project = await service.newProject()
    const csv = `email\nx${'😀'.repeat(400)}\n`
    const { result } = await imported(service, csv, project)
    assert.is(result.failed, 1)
    assert.ok(result.errors[0].email.startsWith('x😀😀'))
  })

  test('may be of 64 KB, alone, together and with what a contact has', async (service) => {
    const project = await service.newProject()
    const big = 'x'.repeat(65_000)
    await newContact(service, { email: 'full@example.org', data: { old: 'y'.repeat(1_000) } }, project)
    const csv = [
      'email,a,b',
      'first@example.org,1,',
      `one@example.org,${big},`,
      `full@example.org,${big},`,
      `one@example.org,,${big}`,
      `two@example.org,${'x'.repeat(65_530)},1`,
      'last@example.org,2,',
    ].join('\n')
    const { result } = await imported(service, csv, project)
    assertCounted(result)
    assert.equal([result.created, result.updated, result.unchanged], [3, 0, 0])
    assert.equal(
      result.errors.map(({ row, email }: { row: number; email: string }) => [row, email]).toSorted(),
      [
        [4, 'full@example.org'],
        [5, 'one@example.org'],
        [6, 'two@example.org'],
      ],
    )
    for (const { error } of result.errors) assert.match(error, /65536 bytes/)
    const contacts = await contactsOf(service, project)
    assert.equal(Object.keys(contacts), [
      'first@example.org',
      'full@example.org',
      'last@example.org',
      'one@example.org',
    ])
    assert.equal(contacts['one@example.org'].data, { a: big })
    assert.equal(Object.keys(contacts['full@example.org'].data), ['old'])
  })

  test('are kept when only a later one of the same address is too large', async (service) => {
    const project = await service.newProject()
    await newContact(service, { email: 'ada@example.org', data: { old: 'y'.repeat(1_000) } }, project)
    const csv = `email,a\nada@example.org,small\nada@example.org,${'x'.repeat(65_000)}\n`
    const { result } = await imported(service, csv, project)
    assert.equal([result.updated, result.failed, result.errors[0].row], [1, 1, 3])
    assert.is((await contactsOf(service, project))['ada@example.org'].data.a, 'small')
  })

  test('have no effect in reserved columns, and may name any other', async (service) => {
    const project = await service.newProject()
    const csv =
      'id,email,svc_id,svc_email,unsubscribeUrl,subscribeUrl,manageUrl,__proto__,a.b,first name,\n1,ada@example.org,2,3,4,5,6,7,8,9,10\n'
    await imported(service, csv, project)
    const { 'ada@example.org': ada } = await contactsOf(service, project)
    assert.equal(Object.entries(ada.data).toSorted(), [
      ['__proto__', 7],
      ['a.b', 8],
      ['first name', 9],
    ])
  })

  test('stay in their project', async (service) => {
    const [one, two] = [await service.newProject(), await service.newProject()]
    await newContact(service, { email: 'ada@example.org', data: { plan: 'theirs' } }, two)
    const { result } = await imported(service, 'email,plan\nada@example.org,mine\n', one)
    assert.is(result.created, 1)
    assert.equal((await contactsOf(service, two))['ada@example.org'].data, { plan: 'theirs' })
  })
})

scenario('The survey of a file', nothingShared, (test) => {
  test('is hardly larger than the file, however many columns and repeated addresses it has', async () => {
    const names = Array.from({ length: 499 }, (_, index) => `c${index}`)
    const lines = Array.from({ length: 2_000 }, (_, index) => `p${index % 1_000}@example.org`)
    const csv = `email,${names.join(',')}\n${lines.join('\n')}`
    const header = await headerOf(csv)
    if (typeof header === 'string') throw new Error(header)
    const { survey, total } = await surveyRows(csv, header.columns, header.below, 0)
    assert.equal([total, Object.keys(survey.laterCells).length], [2_000, 1_000])
    assert.ok(JSON.stringify(survey).length < 2 * csv.length)
  })
})
