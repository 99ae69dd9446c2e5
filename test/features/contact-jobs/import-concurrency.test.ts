import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { changeContactsJob } from '../../../src/features/contact-jobs/change-contacts.job.ts'
import { createJob, getJob } from '../../../src/features/contact-jobs/contact-jobs.ts'
import { runImport } from '../../../src/features/contact-jobs/import.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { runs } from '../../support/seeded.ts'
import { type Project, type Service, startService } from '../../support/service.ts'
import { turnOf } from '../../support/work.ts'
import { createContact } from '../contacts/contact-support.ts'
import { type Dialect, written } from './csv-support.ts'
import { assertCounted, contactsOf, eventsOf, imported, work } from './job-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

const people = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

const DIALECT: Dialect = { delimiter: ',', newline: '\n', quoteAll: false, told: false, ended: true }

scenario('Imports at the same time', start, (test) => {
  test('of overlapping files lose nothing and leave no deadlock', async (service) => {
    const project = await service.newProject()
    const csv = (column: string, numbers: number[]) =>
      `email,subscribed,${column}\n${numbers
        .map((n) => `p${n}@example.org,${['', 'yes', 'no'][n % 3]},${n}`)
        .join('\n')}`
    // In opposite orders, so that locks would be taken in opposite orders, too.
    const results = await Promise.all([
      imported(service, csv('a', people(0, 2_000)), project),
      imported(service, csv('b', people(500, 2_500).toReversed()), project),
      imported(service, csv('c', people(0, 2_500)), project),
    ])
    const contacts = await contactsOf(service, project)
    assert.is(Object.keys(contacts).length, 2_500)
    for (const n of people(0, 2_500)) {
      const data = { ...(n < 2_000 && { a: n }), ...(n >= 500 && { b: n }), c: n }
      assert.equal(contacts[`p${n}@example.org`], { subscribed: n % 3 !== 2, data })
    }
    for (const { result } of results) assertCounted(result)
    const created = results.map(({ result }) => result.created)
    assert.is(
      created.reduce((sum, one) => sum + one),
      2_500,
    )
    assert.equal(await eventsOf(service, project), [])
  })

  test('as tracking lose nothing either', async (service) => {
    const project = await service.newProject()
    const numbers = people(0, 1_000)
    const lines = numbers.map((n) => `p${n}@example.org,${n}`)
    const tracked = async () => {
      for (const n of numbers.filter((one) => one % 10 === 0).toReversed()) {
        const { status, text } = await service
          .as(project.public)
          .post('/v1/track', { email: `p${n}@example.org`, event: 'seen', data: { tracked: n } })
        assert.is(status, 200, text)
      }
    }
    await Promise.all([imported(service, `email,imported\n${lines.join('\n')}`, project), tracked()])
    const contacts = await contactsOf(service, project)
    for (const n of numbers) {
      assert.equal(contacts[`p${n}@example.org`].data, { imported: n, ...(n % 10 === 0 && { tracked: n }) })
    }
  })

  test('of one job by several workers do its work once', async (service) => {
    const project = await service.newProject()
    const ctx = service.ctx(project.id)
    const lines = people(0, 2_600).map((n) => `p${n}@example.org,${n === 1_300 ? 'maybe' : ''},${n}`)
    const file = new TextEncoder().encode(`email,subscribed,n\n${lines.join('\n')}`)
    const id = await createJob(ctx, { type: 'IMPORT', file })
    await Promise.all([1, 2, 3].map(() => work(service, project)))
    const job = await getJob(ctx, id)
    assert.equal([job.state, job.position, job.progress], ['completed', 2_600, 100])
    assert.equal(job.result, {
      totalRows: 2_600,
      created: 2_599,
      updated: 0,
      unchanged: 0,
      failed: 1,
      errors: [
        { row: 1_302, email: 'p1300@example.org', error: 'The value of "subscribed" must be true or false.' },
      ],
    })
    assert.is(Object.keys(await contactsOf(service, project)).length, 2_599)
  })

  test('that another worker goes on with are not ended by one that knows an old state', async (service) => {
    const project = await service.newProject()
    const ctx = service.ctx(project.id)
    const lines = people(0, 1_700).map((n) => `p${n}@example.org,${n}`)
    const file = new TextEncoder().encode(`email,n\n${lines.join('\n')}`)
    const id = await createJob(ctx, { type: 'IMPORT', file })
    const old = await getJob(ctx, id)
    const noTime = turnOf(project.id, { hasTime: () => false })
    assert.is(await changeContactsJob.slice(ctx, noTime), 'more')
    assert.is((await getJob(ctx, id)).position, 500)
    assert.is(await runImport(ctx, old, () => false), 'more')
    assert.is((await getJob(ctx, id)).position, 1_000)
    await work(service, project)
    const { state, result } = await getJob(ctx, id)
    assert.equal(
      [state, result],
      ['completed', { totalRows: 1_700, created: 1_700, updated: 0, unchanged: 0, failed: 0, errors: [] }],
    )
  })

  test('go on where a failure has stopped them', async (service) => {
    const project = await service.newProject()
    const ctx = service.ctx(project.id)
    const lines = people(0, 1_700).map((n) => `p${n}@example.org,${n}`)
    const id = await createJob(ctx, {
      type: 'IMPORT',
      file: new TextEncoder().encode(`email,n\n${lines.join('\n')}`),
    })
    await service.sql(`create function away() returns trigger language plpgsql as $$ begin
      raise exception 'away' using errcode = '57P01'; end $$`)
    await service.sql(`create trigger away before update on contact_jobs for each row
      when (new.position = 1000 and old.position = 500) execute function away()`)
    const failure = await work(service, project).catch((error: unknown) => error)
    assert.instance(failure, Error, 'the queue has to try again')
    assert.equal([(await getJob(ctx, id)).state, (await getJob(ctx, id)).position], ['active', 500])
    assert.is(Object.keys(await contactsOf(service, project)).length, 500)
    await service.sql('drop trigger away on contact_jobs')
    await work(service, project)
    const { state, result } = await getJob(ctx, id)
    assert.equal(
      [state, result],
      ['completed', { totalRows: 1_700, created: 1_700, updated: 0, unchanged: 0, failed: 0, errors: [] }],
    )
  })
})

const cell = fc.constantFrom('', '', 'x', '7', '7', '007', 'TRUE', 'false', '=1+1', ' y ', '1.50', 'é"')
const email = fc.constantFrom(
  'a@example.org',
  'b@example.org',
  ' A@Example.org',
  'c@example.org',
  'nobody',
  '',
)
const subscribed = fc.constantFrom('', '', 'yes', 'no', 'perhaps')
const rows = fc.array(fc.tuple(email, subscribed, cell, cell, cell), { minLength: 1, maxLength: 8 })

const VALUES: Record<string, unknown> = { '7': 7, '1.50': 1.5, TRUE: true, false: false }
const STATES: Record<string, boolean | undefined> = { yes: true, no: false }
const COLUMNS = ['plan', 'id', 'a.b']

/** The rows as so many calls of POST /contacts; how many of them were refused. */
async function posted(service: Service, project: Project, table: string[][]): Promise<number> {
  let refused = 0
  const isTyped = COLUMNS.map((_, index) => {
    const types = table.map((cells) => cells[index + 2] ?? '').filter((text) => text !== '')
    return new Set(types.map((text) => typeof VALUES[text])).size === 1
  })
  for (const [address = '', state = '', ...cells] of table) {
    const valueIn = (text: string, index: number) =>
      (isTyped[index] ? VALUES[text] : undefined) ?? text.trim()
    const data = Object.fromEntries(cells.map((text, index) => [COLUMNS[index], valueIn(text, index)]))
    const subscribed = state === 'perhaps' ? 'perhaps' : STATES[state]
    const { status } = await createContact(service, { email: address, subscribed, data }, project)
    if (status >= 400) refused += 1
  }
  return refused
}

scenario('An import', start, (test) => {
  test('does what a POST /contacts for each of its rows does', async (service) => {
    let compared = 0
    const run = async (before: string[][], table: string[][]) => {
      const [one, other] = [await service.newProject(), await service.newProject()]
      await posted(service, one, before)
      await posted(service, other, before)
      const csv = written([['email', 'subscribed', ...COLUMNS], ...table], DIALECT)
      const { result } = await imported(service, csv, one)
      const known = Object.keys(await contactsOf(service, other)).length
      const failed = await posted(service, other, table)
      const contacts = await contactsOf(service, other)
      assert.equal(await contactsOf(service, one), contacts)
      assert.is(result.created, Object.keys(contacts).length - known)
      const empty = table.filter((cells) => cells.every((text) => text.trim() === '')).length
      assert.is(result.failed, failed - empty)
      assert.is(result.totalRows, table.length - empty)
      compared += 1
    }
    await fc.assert(fc.asyncProperty(rows, rows, run), { numRuns: runs(60) })
    assert.ok(compared >= runs(60))
  })
})
