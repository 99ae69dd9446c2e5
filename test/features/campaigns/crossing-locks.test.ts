import * as assert from 'uvu/assert'
import { advanceCampaignsJob } from '../../../src/features/campaign-ledger/advance-campaigns.job.ts'
import { hold } from '../../support/held-lock.ts'
import { startSending } from '../../support/mailing.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService, until } from '../../support/service.ts'
import { turnOf } from '../../support/work.ts'
import { assertAddsUp, newCampaign, newContacts, sendNow, stats } from './campaign-support.ts'
import { underWay } from './under-way.ts'

/** How often Postgres has ended a transaction in this database because two waited for each other. */
async function deadlocks({ sql }: Service): Promise<number> {
  const [row] = await sql<{ count: number }>(
    'select deadlocks::int as count from pg_stat_database where datname = current_database()',
  )
  return row?.count ?? 0
}

/** Postgres tells with a delay. */
const isCounted = (service: Service, before: number) =>
  until('the deadlock is counted', async () => (await deadlocks(service)) > before)

/*
 * Who deletes a contact locks it and then what belongs to it; the ledger and the deliveries are written the other way
 * around, and a contact that is named by a new row is locked by its foreign key in the end. Either may be ended by
 * Postgres then; it must be tried again, unnoticed.
 */
scenario(
  'A contact that is deleted',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('while its message is queued: one of both is tried again', async (service) => {
      const [first, second] = await newContacts(service, 2)
      const { id } = await newCampaign(service)
      await sendNow(service, id)
      const before = await deadlocks(service)
      const held = await hold(service.databaseUrl, 'select from contacts where id = $1 for update', [first])
      const advanced = advanceCampaignsJob.slice(service.ctx(service.project.id), turnOf(service.project.id))
      await held.waiters(1)
      const deleted = service.as().delete(`/contacts/${second}`)
      await held.waiters(2)
      await held.release()
      await advanced
      assert.is((await deleted).status, 204)
      await isCounted(service, before)
      const found = await stats(service, id)
      assert.equal([found.sendingCount, found.skippedCount, found.totalRecipients], [1, 1, 2])
      await assertAddsUp(service, id)
      const waiting = await service.sql('select from deliveries where campaign_id = $1', [id])
      assert.is(waiting.length, 1)
    })
  },
)

scenario(
  'A contact that is deleted',
  () => startSending({ SMTP_CONNECTIONS: '1' }),
  (test) => {
    test('while its message is settled: both come to their end, whoever is ended first', async (context) => {
      const { id, ids, project, release } = await underWay(context, 'settled', 1)
      const held = await hold(context.databaseUrl, 'select from emails where campaign_id = $1 for update', [
        id,
      ])
      release()
      await held.waiters(1)
      const deleted = context.as(project).delete(`/contacts/${ids[0]}`)
      await held.waiters(2)
      await held.release()
      assert.is((await deleted).status, 204)
      const found = await until('the campaign has ended', async () => {
        const counts = await stats(context, id, project)
        return counts.status === 'SENT' && counts
      })
      assert.is(found.sentCount + found.skippedCount, 1)
      await assertAddsUp(context, id, project)
      assert.is((await context.sql('select from deliveries where project_id = $1', [project.id])).length, 0)
    })
  },
)
