import * as assert from 'uvu/assert'
import { track } from '../../../src/features/events/track.sql.ts'
import { storeSend } from '../../../src/features/sending/send.sql.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, startService } from '../../support/service.ts'

/** One project with nearly all interests of the service, all of one kind of consumer. */
async function unequal() {
  const service = await startService({ ROLES: 'http' })
  await service.sql(
    `insert into interests (project_id, consumer, consumer_id, kind, name, listens)
     select $1, 'SEGMENT', gen_random_uuid(), 'EVENT', 'event ' || n, true from generate_series(1, 5000) n`,
    [service.project.id],
  )
  await service.sql('analyze interests')
  return service
}

/** How a plan reads interests: the kinds of scans, with their indexes. */
function readsOf(plan: Body): string[] {
  const own = plan['Relation Name'] === 'interests' ? [`${plan['Node Type']} ${plan['Index Name']}`] : []
  return [...own, ...(plan.Plans ?? []).flatMap(readsOf)]
}

const sendTo = { once: false, files: false, billed: false }

const STATEMENTS = {
  'an event': track,
  'a message to a new contact': storeSend({ ...sendTo, single: true, contacts: 'insert' }, 100),
  'a message to many': storeSend({ ...sendTo, single: false, contacts: 'merge' }, 100),
}

scenario('Who listens', unequal, (test) => {
  for (const [what, { text }] of Object.entries(STATEMENTS)) {
    test(`is looked up by an index for ${what}, whoever has most interests`, async (service) => {
      const [row] = await service.sql<Body>(`explain (generic_plan, format json) ${text}`)
      const reads = readsOf(row['QUERY PLAN'][0].Plan)
      const first = reads.filter((_, index) => index % 4 === 0)
      assert.ok(first.length > 0)
      for (const read of first) assert.is(read, 'Index Only Scan interests_listening')
      for (const read of reads) assert.match(read, /^(Index|Bitmap)/)
    })
  }
})
