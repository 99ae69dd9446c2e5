import * as assert from 'uvu/assert'
import { setProjectDisabled } from '../../../src/features/projects/projects.ts'
import { advanceWipe, wipeWork } from '../../../src/features/wipes/advance-wipe.ts'
import { wipeProjectsJob } from '../../../src/features/wipes/wipe-projects.job.ts'
import { ENDED_LAST, KEPT, WIPED } from '../../../src/features/wipes/wiped-tables.sql.ts'
import { deleteProject, resetProject } from '../../../src/features/wipes/wipes.ts'
import { mailFolder } from '../../../src/mail/mail-folder.ts'
import { hold } from '../../support/held-lock.ts'
import { IMAGES } from '../../support/images.ts'
import { scenario } from '../../support/scenario.ts'
import { type Project, type Service, startService } from '../../support/service.ts'
import { workThrough } from '../../support/work.ts'
import { fillProject, rowsOf } from './fill.ts'

const ALL = [...WIPED, ...KEPT]

const track = ({ as }: Service, project: Project, email = 'ada@example.org') =>
  as(project.public).post('/v1/track', { email, event: 'opened door' })

/** A service without workers: what happens in the background is what a test has happen. */
const start = () => startService({ ROLES: 'http' })

scenario('Reset and deletion of projects', start, (test) => {
  test('know every table that rows of projects are in', async ({ sql }) => {
    const found = await sql<{ table: string }>(
      `select table_name as table from information_schema.columns
       where table_schema = current_schema() and column_name = 'project_id'
         and not (select relispartition from pg_class where oid = table_name::regclass) order by table_name`,
    )
    assert.equal(
      [...ALL.map(({ table }) => table), ...ENDED_LAST].toSorted(),
      found.map(({ table }) => table).toSorted(),
    )
  })

  test('a reset removes all contents, and leaves keys, members, domains and other projects alone', async (service) => {
    const [project, other] = [await service.newProject(), await service.newProject()]
    for (const { id } of [project, other]) await fillProject(service, id)
    const [before, others] = [await rowsOf(service, project.id, ALL), await rowsOf(service, other.id, ALL)]
    assert.equal(
      ALL.filter(({ table }) => !before[table]),
      [],
      'there is something to remove of each',
    )
    await resetProject(service.ctx(), project.id)
    assert.equal(await rowsOf(service, project.id, WIPED), {})
    const kept = await rowsOf(service, project.id, KEPT)
    assert.equal(kept, {
      ...Object.fromEntries(KEPT.map(({ table }) => [table, before[table]])),
      audit_entries: (before.audit_entries ?? 0) + 1,
    })
    assert.equal(await rowsOf(service, other.id, ALL), others)
    assert.equal(await rowsOf(service, project.id, [{ table: 'project_wipes' }]), {})
    assert.is((await track(service, project)).status, 200, 'it goes on at once')
    assert.equal(Object.keys(await rowsOf(service, project.id, WIPED)).toSorted(), [
      'contacts',
      'event_names',
      'events',
    ])
  })

  test('a deletion removes all of it, and the keys stop', async (service) => {
    const [project, other] = [await service.newProject(), await service.newProject()]
    for (const { id } of [project, other]) await fillProject(service, id)
    const others = await rowsOf(service, other.id, ALL)
    await deleteProject(service.ctx(), project.id)
    assert.equal(await rowsOf(service, project.id, ALL), {})
    assert.equal(await service.sql('select from projects where id = $1', [project.id]), [])
    assert.is((await track(service, project)).status, 401)
    assert.is((await service.as(project).get('/contacts')).status, 401)
    assert.equal(await rowsOf(service, other.id, ALL), others)
  })

  test('what was interrupted is finished by workers; meanwhile nothing is written, and reads are answered', async (service) => {
    const project = await service.newProject()
    for (const email of ['ada@example.org', 'bob@example.org']) await track(service, project, email)
    const held = await hold(service.databaseUrl, 'select from contacts where project_id = $1 for update', [
      project.id,
    ])
    const resetting = resetProject(service.ctx(), project.id)
    await held.waiters(1)
    const refused = await track(service, project)
    assert.is(refused.status, 503)
    assert.match(refused.body.error.message, /being reset/)
    assert.is(refused.headers.get('retry-after'), '5')
    assert.is((await service.as(project).post('/contacts', { email: 'eve@example.org' })).status, 503)
    assert.is((await service.as(project).get('/contacts')).status, 200)
    await held.release()
    await resetting
    assert.is((await track(service, project)).status, 200)
  })

  test('a crash at any step loses nothing of the work', async (service) => {
    const project = await service.newProject()
    await fillProject(service, project.id)
    await service.sql(
      `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
       select $1, gen_random_uuid(), 'c' || n || '@example.org', true, now(), now() from generate_series(1, 5000) n`,
      [project.id],
    )
    // More images than one commit's part.
    await service.sql(
      `insert into uploads (project_id, id, key, content_type, size, created_at)
       select $1::uuid, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1::text || '/' || n || '.png', 'image/png', 1, now()
       from generate_series(1, 20) n`,
      [project.id],
    )
    // A process that begins, does one commit and dies, again and again.
    await service.app.services.database.prisma.projectWipe.create({
      data: { projectId: project.id, deletes: true, requestedAt: new Date(), wasDisabled: false },
    })
    let lives = 0
    for (const ctx = service.ctx(project.id); await advanceWipe(ctx, onceOnly()); lives += 1) {
      // What is followed of a contact may be written until the contact is gone.
      await service.sql(
        `insert into changes (project_id, consumer, id, contact_id, keys)
         select project_id, 'WORKFLOW', gen_random_uuid(), gen_random_uuid(), '{}' from project_wipes
         where project_id = $1 and opened_at is not null`,
        [project.id],
      )
    }
    assert.ok(lives >= 3, `${lives}`)
    await workThrough(service, wipeProjectsJob)
    assert.equal(await rowsOf(service, project.id, ALL), {})
    assert.equal(await service.sql('select from projects where id = $1', [project.id]), [])
  })

  test('what an earlier transaction commits late is removed as well', async (service) => {
    const project = await service.newProject()
    const late = await hold(
      service.databaseUrl,
      `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
       values ($1, gen_random_uuid(), 'late@example.org', true, now(), now())`,
      [project.id],
    )
    const resetting = resetProject(service.ctx(), project.id)
    await late.waiters(1)
    await late.release('commit')
    await resetting
    await workThrough(service, wipeProjectsJob)
    assert.equal(await rowsOf(service, project.id, WIPED), {})
  })

  test('a project that was disabled still is, for the same reason', async (service) => {
    const project = await service.newProject()
    await setProjectDisabled(service.ctx(), project.id, 'EMAIL_REPUTATION')
    await resetProject(service.ctx(), project.id)
    const [row] = await service.sql('select disabled, disabled_reason from projects where id = $1', [
      project.id,
    ])
    assert.equal(row, { disabled: true, disabled_reason: 'EMAIL_REPUTATION' })
  })

  test('two resets at once, and a deletion during a reset, come to one end', async (service) => {
    const [twice, both] = [await service.newProject(), await service.newProject()]
    for (const project of [twice, both]) await track(service, project)
    await Promise.all([resetProject(service.ctx(), twice.id), resetProject(service.ctx(), twice.id)])
    await workThrough(service, wipeProjectsJob)
    assert.is((await track(service, twice)).status, 200)
    const held = await hold(service.databaseUrl, 'select from contacts where project_id = $1 for update', [
      both.id,
    ])
    const resetting = resetProject(service.ctx(), both.id)
    await held.waiters(1)
    const deleting = deleteProject(service.ctx(), both.id)
    await held.waiters(2)
    await held.release()
    await Promise.all([resetting, deleting])
    await workThrough(service, wipeProjectsJob)
    assert.equal(await service.sql('select from projects where id = $1', [both.id]), [])
  })

  test('image files, mail in the mailbox and turns in the queue go too', async (service) => {
    const { as, project, app, sql } = service
    const image = await as().post('/uploads/image', formWith(IMAGES.png))
    const sent = await as().post('/v1/send', {
      to: 'ada@example.org',
      from: `hi@${project.domain}`,
      subject: 'Hello',
      body: '<p>Hello</p>',
    })
    const id = sent.body.data.emails[0].email
    assert.is(app.config.mail.provider, 'mailbox')
    if (app.config.mail.provider !== 'mailbox') return
    const folder = mailFolder(app.config.mail.directory)
    await folder.write([
      { name: `${id}.eml`, content: 'x' },
      { name: 'another.eml', content: 'x' },
    ])
    const turns = () => sql(`select name from pgboss.job where data ->> 'projectId' = $1`, [project.id])
    assert.is((await fetch(image.body.url)).status, 200)
    await resetProject(service.ctx(), project.id)
    assert.is((await fetch(image.body.url)).status, 404)
    assert.equal(await folder.names(), ['another.eml'])
    assert.equal(
      (await turns()).filter(({ name }) => name !== wipeWork.name),
      [],
    )
  })
})

/** Time for one step. */
function onceOnly(): () => boolean {
  let asked = 0
  return () => {
    asked += 1
    return asked === 1
  }
}

function formWith(image: Uint8Array): FormData {
  const form = new FormData()
  form.append('image', new Blob([new Uint8Array(image)]), 'image.png')
  return form
}
