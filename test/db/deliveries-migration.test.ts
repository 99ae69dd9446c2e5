import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import * as assert from 'uvu/assert'
import { scenario } from '../support/scenario.ts'
import { scratchDatabase } from '../support/scratch-database.ts'

const FOLDER = path.join(import.meta.dirname, '..', '..', 'prisma', 'migrations')
const NAMES = readdirSync(FOLDER)
  .filter((name) => /^\d+_/.test(name))
  .sort()
const DELIVERIES = NAMES.findIndex((name) => name.endsWith('_deliveries'))
const sqlOf = (name: string | undefined) =>
  readFileSync(path.join(FOLDER, name ?? '', 'migration.sql'), 'utf8')

/** A database as it was before mail that waits had a table of its own. */
async function start() {
  const database = await scratchDatabase()
  for (const name of NAMES.slice(0, DELIVERIES)) await database.pool.query(sqlOf(name))
  return database
}

const STATES = [
  ['waiting', 'PENDING', 0, 'TRANSACTIONAL'],
  ['tried', 'PENDING', 3, 'TRANSACTIONAL'],
  ['campaign', 'PENDING', 0, 'CAMPAIGN'],
  ['taken', 'SENDING', 1, 'TRANSACTIONAL'],
  ['failed', 'FAILED', 10, 'TRANSACTIONAL'],
  ['sent', 'SENT', 1, 'TRANSACTIONAL'],
] as const

scenario('The migration to deliveries', start, (test) => {
  test('carries waiting, taken and failed mail over, waits for who settles, and leaves sent mail alone', async ({
    pool,
    url,
  }) => {
    const [project, contact] = [randomUUID(), randomUUID()]
    await pool.query(
      `insert into projects (id, name, public_key, public_key_hash, secret_hash, secret_last_four, created_at, updated_at)
       values ($1, 'Old', 'pk', 'a', 'b', 'xxxx', now(), now())`,
      [project],
    )
    await pool.query(
      `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
       values ($1, $2, 'ada@example.org', true, '{}', now(), now())`,
      [project, contact],
    )
    for (const [subject, status, attempts, source] of STATES) {
      await pool.query(
        `with email as (
           insert into emails (project_id, id, contact_id, to_email, "from", subject, type, source_type, status,
             message_id, attempts, due_at, claim_id, lease_until, created_at, updated_at)
           values ($1, gen_random_uuid(), $2, 'ada@example.org', 'a@b.example', $3, 'TRANSACTIONAL', $6::email_source,
             $4::email_status, '<' || $3 || '>', $5, now() + interval '1 hour',
             case when $4 = 'SENDING' then gen_random_uuid() end, case when $4 = 'SENDING' then now() end, now(), now())
           returning project_id, id
         )
         insert into email_contents (project_id, email_id, html) select project_id, id, '<p>12 bytes' from email
         where $3 <> 'tried'`,
        [project, contact, subject, status, attempts, source],
      )
    }
    // An older worker that settles a message at this moment.
    const settling = new pg.Client({ connectionString: url })
    await settling.connect()
    await settling.query('begin')
    await settling.query(`update emails set status = 'SENT' where subject = 'taken'`)
    const migrating = pool.query(sqlOf(NAMES[DELIVERIES]))
    await settling.query('commit')
    await settling.end()
    await migrating
    const { rows } = await pool.query(
      `select e.subject, e.status, d.priority, d.size, d.attempts, d.uncertain,
         case d.due_at when 'infinity' then 'never' else case when d.due_at > now() then 'later' else 'now' end end as due
       from deliveries d join emails e on e.project_id = d.project_id and e.id = d.email_id order by e.subject`,
    )
    const row = { status: 'PENDING', priority: 0, size: 11, attempts: 0, uncertain: false, due: 'later' }
    assert.equal(rows, [
      { ...row, subject: 'campaign', priority: 2 },
      { ...row, subject: 'failed', status: 'FAILED', attempts: 10, due: 'never' },
      { ...row, subject: 'tried', attempts: 3, size: 0 },
      { ...row, subject: 'waiting' },
    ])
  })
})
