import * as assert from 'uvu/assert'
import { migrate } from '../../src/db/migrations/migrate.ts'
import { readDatamodel } from '../../src/db/migrations/new-migration.ts'
import { readSchema, schemaDiff } from '../../src/db/migrations/schema-diff.ts'
import { describeCatalogue, nameOf } from '../support/catalogue.ts'
import { scenario } from '../support/scenario.ts'
import { scratchDatabase } from '../support/scratch-database.ts'

/** What the migrations add by hand because a Prisma schema cannot say it, named as `describeCatalogue` does. */
const HAND_WRITTEN = [
  'constraint contacts.contacts_data_object',
  'constraint contacts.contacts_data_size',
  'constraint contacts.contacts_email_normal',
  'extension btree_gin',
  'extension pg_trgm',
  'function abort_statement',
  'function delete_contents_of_emails',
  'function tally_executions',
  'function tally_step_executions',
  'index campaign_recipients_due',
  'index campaigns_began',
  'index campaigns_next',
  'index campaigns_next_of_project',
  'index contact_field_deletions_running',
  'index contact_fields_counted',
  'index contact_jobs_unfinished',
  'index contacts_data',
  'index contacts_email_part',
  'index contacts_sample',
  'index contacts_subscribed',
  'index deliveries_campaign',
  'index deliveries_due',
  'index deliveries_taken',
  'index emails_attachment_set',
  'index emails_template',
  'index emails_variables',
  'index events_of_some_contacts',
  'index interests_listening',
  'index webhook_messages_due',
  'index webhook_messages_taken',
  'index workflow_executions_active',
  'index workflow_executions_completed',
  'index workflow_executions_next',
  'index workflow_executions_waiting',
  'index workflows_next',
  'option campaign_recipients.autovacuum_vacuum_scale_factor',
  'option campaign_recipients.fillfactor',
  'option campaign_tallies.autovacuum_vacuum_scale_factor',
  'option campaign_tallies.autovacuum_vacuum_threshold',
  'option changes.autovacuum_vacuum_scale_factor',
  'option changes.autovacuum_vacuum_threshold',
  'option contacts.autovacuum_vacuum_scale_factor',
  'option contacts.fillfactor',
  'option deliveries.autovacuum_vacuum_scale_factor',
  'option deliveries.autovacuum_vacuum_threshold',
  'option emails_base.autovacuum_vacuum_scale_factor',
  'option emails_base.fillfactor',
  'option limit_windows.autovacuum_vacuum_scale_factor',
  'option limit_windows.autovacuum_vacuum_threshold',
  'option limit_windows.fillfactor',
  'option mail_counts.fillfactor',
  'option mail_tallies.autovacuum_vacuum_scale_factor',
  'option mail_tallies.autovacuum_vacuum_threshold',
  'option mail_reports.autovacuum_vacuum_scale_factor',
  'option mail_reports.autovacuum_vacuum_threshold',
  'option segment_checks.autovacuum_vacuum_scale_factor',
  'option segment_checks.autovacuum_vacuum_threshold',
  'option segment_checks.fillfactor',
  'option tracking_hits.autovacuum_vacuum_scale_factor',
  'option tracking_hits.autovacuum_vacuum_threshold',
  'option workflow_counts.fillfactor',
  'option workflow_executions.autovacuum_vacuum_scale_factor',
  'option workflow_executions.fillfactor',
  'option workflow_tallies.autovacuum_vacuum_scale_factor',
  'option workflow_tallies.autovacuum_vacuum_threshold',
  'unlogged limit_windows',
  'unlogged work_sweeps',
]

async function bothDatabases() {
  const migrated = await scratchDatabase()
  const modelled = await scratchDatabase()
  const stop = async () => {
    await migrated.stop()
    await modelled.stop()
  }
  try {
    await migrate(migrated.url)
    await modelled.pool.query(await schemaDiff(null, await readSchema()))
    return {
      migrated: await describeCatalogue(migrated.pool),
      modelled: await describeCatalogue(modelled.pool),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

scenario('The migrations and the Prisma schema', bothDatabases, (test) => {
  test('the migrations make all that the schema says, exactly as it says it', ({ migrated, modelled }) => {
    const present = new Set(migrated)
    assert.equal(
      modelled.filter((line) => !present.has(line)),
      [],
    )
    assert.ok(modelled.length > 0)
  })

  test('the migrations add nothing but what is listed as written by hand', ({ migrated, modelled }) => {
    const expected = new Set(modelled)
    const added = migrated.filter((line) => !expected.has(line)).map(nameOf)
    assert.equal(added.sort(), HAND_WRITTEN.toSorted())
  })

  test('the datamodel kept with the migrations asks for the same as the schema', async () => {
    const datamodel = await readDatamodel()
    assert.is(await schemaDiff(datamodel, await readSchema()), '')
  })
})
