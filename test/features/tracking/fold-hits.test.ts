import * as assert from 'uvu/assert'
import { followSegmentsJob } from '../../../src/features/memberships/follow-segments.job.ts'
import { foldHitsJob } from '../../../src/features/tracking/fold-hits.job.ts'
import { newId } from '../../../src/lib/ids.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { turnOf, workThrough } from '../../support/work.ts'
import { newTracked, treeOf } from '../segments/segment-support.ts'
import { sent } from '../sending/send-support.ts'

const start = () => startService({ ROLES: 'http' }, { alone: true })

/** A message that has left, an hour ago. */
async function left(service: Service, to: string): Promise<{ id: string; contactId: string }> {
  const { email } = await sent(service, { to })
  const sentAt = new Date(service.clock.now().getTime() - 3_600_000)
  await service.sql(`update emails set status = 'SENT', sent_at = $2 where id = $1`, [email.id, sentAt])
  return { id: email.id, contactId: email.contact_id }
}

/** Notes hits of messages, each so many seconds ago. */
async function note(
  service: Service,
  hits: { id: string; ago: number; link?: string; machine?: boolean }[],
  project = service.project,
): Promise<void> {
  const now = service.clock.now().getTime()
  await service.sql(
    `insert into tracking_hits (project_id, email_id, id, link, links, machine)
     select $1, * from unnest($2::uuid[], $3::uuid[], $4::text[], $5::smallint[], $6::boolean[])`,
    [
      project.id,
      hits.map(({ id }) => id),
      hits.map(({ ago }) => newId(new Date(now - ago * 1_000))),
      hits.map(({ link }) => link ?? null),
      hits.map(() => 9),
      hits.map(({ machine }) => machine ?? false),
    ],
  )
}

const fold = (service: Service) => workThrough(service, foldHitsJob)

scenario('Hits are counted', start, (test) => {
  test('in batches, each of them once, and as many as there are', async (service) => {
    const mails: { id: string }[] = []
    for (let index = 0; index < 40; index += 1) mails.push(await left(service, `batch${index}@example.org`))
    const hits = mails.flatMap(({ id }, index) =>
      Array.from({ length: 30 }, (_, n) => ({
        ...{ id, ago: 3_000 - n * 60 },
        ...(n % 3 === 1 && { link: `https://a.example/${n}` }),
        machine: n % 5 === index % 5,
      })),
    )
    await note(service, hits)
    // Two workers at once.
    await Promise.all([fold(service), fold(service)])
    const [sums] = await service.sql(
      `select sum(opens)::int as opens, sum(clicks)::int as clicks, sum(hits)::int as hits from emails`,
    )
    const persons = hits.filter(({ machine }) => !machine)
    const clicks = persons.filter((hit) => 'link' in hit).length
    assert.equal(sums, { opens: persons.length - clicks, clicks, hits: hits.length })
    const recount = await service.sql(
      `select name, count(*)::int as count, count(*) filter (where data @> '{"isFirst": true}')::int as first,
         count(*) filter (where data @> '{"bot": true}')::int as bots
       from events where name in ('email.open', 'email.click') group by name order by name desc`,
    )
    assert.equal(recount, [
      { name: 'email.open', count: 800, first: 40, bots: 800 - (persons.length - clicks) },
      { name: 'email.click', count: 400, first: 40, bots: 400 - clicks },
    ])
    const rows = await service.sql(`select distinct status from emails`)
    assert.equal(rows, [{ status: 'CLICKED' }])
  })

  test('when they are some seconds old', async (service) => {
    const { id } = await left(service, 'young@example.org')
    await note(service, [
      { id, ago: 8 },
      { id, ago: 2 },
    ])
    const [projectId] = (await foldHitsJob.pending(service.ctx())).map((one) =>
      typeof one === 'string' ? one : one.projectId,
    )
    assert.is(projectId, service.project.id)
    const opens = async () => (await service.sql('select opens from emails where id = $1', [id]))[0]?.opens
    await foldHitsJob.slice(service.ctx(service.project.id), turnOf(service.project.id))
    assert.is(await opens(), 1)
    service.clock.advance(5_000)
    await fold(service)
    assert.is(await opens(), 2)
  })

  test('for the campaigns of the messages, each message once', async (service) => {
    const campaignId = '01a20000-0000-7000-8000-000000000001'
    const mails = [await left(service, 'campaign1@example.org'), await left(service, 'campaign2@example.org')]
    const ids = mails.map(({ id }) => id)
    await service.sql('update emails set campaign_id = $1 where id = any($2)', [campaignId, ids])
    const click = { link: 'https://a.example/' }
    await note(
      service,
      ids.flatMap((id) => [
        { id, ago: 90 },
        { id, ago: 80 },
        { id, ago: 70, ...click },
      ]),
    )
    await fold(service)
    const [again = ''] = ids
    await note(service, [
      { id: again, ago: 30 },
      { id: again, ago: 20, ...click },
    ])
    await fold(service)
    const tallies = await service.sql(
      'select opened, clicked from campaign_tallies where project_id = $1 and campaign_id = $2',
      [service.project.id, campaignId],
    )
    assert.equal(tallies, [{ opened: 2, clicked: 2 }])
  })

  test('of the project alone that they are of', async (service) => {
    const { id } = await left(service, 'mine@example.org')
    const other = await service.newProject()
    await note(service, [{ id, ago: 60 }], other)
    await fold(service)
    const [row] = await service.sql('select opens, hits from emails where id = $1', [id])
    assert.equal(row, { opens: 0, hits: 0 })
  })

  for (const [field, link] of [
    ['email.opened', undefined],
    ['email.clicked', 'https://a.example/'],
  ] as const) {
    test(`for segments with ${field}, which machines do not change`, async (service) => {
      const segment = await newTracked(service, {
        name: field,
        condition: treeOf({ field, operator: 'triggered' }),
      })
      const person = await left(service, `person-${field}@example.org`)
      const machine = await left(service, `machine-${field}@example.org`)
      await note(service, [
        { id: person.id, ago: 60, ...(link && { link }) },
        { id: machine.id, ago: 60, machine: true, ...(link && { link }) },
      ])
      await fold(service)
      await workThrough(service, followSegmentsJob)
      const members = await service.sql('select contact_id from segment_members where segment_id = $1', [
        segment.id,
      ])
      assert.ok(members.some(({ contact_id }) => contact_id === person.contactId))
      assert.not.ok(members.some(({ contact_id }) => contact_id === machine.contactId))
    })
  }
})
