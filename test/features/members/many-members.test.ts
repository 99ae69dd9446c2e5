import * as assert from 'uvu/assert'
import type { Role } from '../../../src/generated/prisma/enums.ts'
import { newId } from '../../../src/lib/ids.ts'
import { type BrowserSession, browserAt, member } from '../../support/browser-session.ts'
import { HOUR } from '../../support/clock.ts'
import { scenario } from '../../support/scenario.ts'
import { type Random, seeded } from '../../support/seeded.ts'
import { type Answer, type Service, startService } from '../../support/service.ts'

const MEMBERS = 1_000
/** Administrators who act at the same time, each this often. */
const ADMINS = 20
const ACTIONS = 8
/** Addresses that are invited by several at once. */
const ADDRESSES = 8

type Person = { id: string; email: string; role: Role }

const start = () => startService({ ROLES: 'http' })

/** A project with an owner and so many members; the first ones are its administrators, who are signed in. */
async function crowd(service: Service) {
  const project = await service.newProject()
  const owner = await member(service, 'OWNER', project)
  const now = service.clock.now()
  const people = Array.from({ length: MEMBERS }, (_, index): Person => {
    const role = index < ADMINS ? 'ADMIN' : 'MEMBER'
    return { id: newId(now), email: `p${index}@example.org`, role }
  })
  const ids = people.map(({ id }) => id)
  await service.sql(
    `insert into users (id, email, email_verified_at, created_at, updated_at)
     select id, email, now(), now(), now() from unnest($1::uuid[], $2::text[]) as t (id, email)`,
    [ids, people.map(({ email }) => email)],
  )
  await service.sql(
    `insert into members (project_id, user_id, role, created_at)
     select $1, id, role, now() from unnest($2::uuid[], $3::role[]) as t (id, role)`,
    [project.id, ids, people.map(({ role }) => role)],
  )
  const expiresAt = new Date(now.getTime() + HOUR)
  const signedIn = async ({ id, email }: Person): Promise<BrowserSession> => {
    const { prisma } = service.app.services.database
    const session = newId(now)
    await prisma.session.create({ data: { id: session, userId: id, createdAt: now, expiresAt } })
    const token = await service.app.services.sessions.token(session, id, expiresAt)
    return browserAt(service.url, email, `token=${token}`)
  }
  return { project, owner, people, admins: await Promise.all(people.slice(0, ADMINS).map(signedIn)) }
}

/** One thing that an administrator does to others. */
function act(admin: BrowserSession, path: string, people: Person[], random: Random): Promise<Answer> {
  // Half of what is done to others is done to those who act as well.
  const most = random.between(0, 1) === 0 ? ADMINS : MEMBERS
  const other = `${path}/${people[random.between(0, most - 1)]?.id}`
  switch (random.between(0, 3)) {
    case 0:
      return admin.call('DELETE', other)
    case 1:
      return admin.call('PATCH', other, { role: 'MEMBER' })
    case 2:
      return admin.call('PATCH', other, { role: 'ADMIN' })
    default: {
      const email = `guest${random.between(1, ADDRESSES)}@example.org`
      return admin.call('POST', path, { email, role: 'MEMBER' })
    }
  }
}

type Entry = { actor: string; action: string; target: string; changes: { role?: Role } }

/** What members there are after these changes, each of which somebody made who was allowed to at that moment. */
function replayed(people: Person[], owner: string, entries: Entry[]): Map<string, Role> {
  const roles = new Map<string, Role>([[owner, 'OWNER']])
  for (const { email, role } of people) roles.set(email, role)
  const invited = new Set<string>()
  for (const entry of entries) {
    const { actor, action, target, changes } = entry
    assert.ok(['OWNER', 'ADMIN'].includes(roles.get(actor) ?? ''), `not theirs: ${JSON.stringify(entry)}`)
    if (action === 'member.invite') {
      assert.not(invited.has(target), `invited twice: ${target}`)
      invited.add(target)
    } else {
      assert.ok(roles.has(target), `was gone: ${JSON.stringify(entry)}`)
      assert.is.not(target, action === 'member.remove' ? actor : owner)
      if (action === 'member.remove') roles.delete(target)
      else roles.set(target, changes.role ?? 'OWNER')
    }
  }
  return roles
}

scenario('A project with a thousand members', start, (test) => {
  test('stays in order when its administrators remove, demote and invite at the same time', (service) =>
    seeded(async (random) => {
      const { project, owner, people, admins } = await crowd(service)
      const path = `/projects/${project.id}/members`
      const answers: Answer[] = []
      await Promise.all(
        admins.map(async (admin) => {
          for (let count = 0; count < ACTIONS; count += 1) {
            answers.push(await act(admin, path, people, random))
          }
        }),
      )
      const statuses = [...new Set(answers.map(({ status }) => status))].toSorted()
      assert.equal(
        statuses.filter((status) => ![200, 201, 204, 403, 404, 409].includes(status)),
        [],
      )
      const entries = await service.sql<Entry>(
        `select actor, action, target, changes from audit_entries
         where project_id = $1 and action in ('member.invite', 'member.update', 'member.remove') order by created_at, ctid`,
        [project.id],
      )
      assert.is(entries.length, answers.filter(({ status }) => status < 300).length)
      const roles = await service.sql<{ email: string; role: Role }>(
        'select u.email, m.role from members m join users u on u.id = m.user_id where m.project_id = $1',
        [project.id],
      )
      assert.equal(
        new Map(roles.map(({ email, role }) => [email, role] as const).toSorted()),
        new Map([...replayed(people, owner.email, entries)].toSorted()),
      )
      assert.equal(
        roles.filter(({ role }) => role === 'OWNER').map(({ email }) => email),
        [owner.email],
      )
      const { status, body } = await owner.call('GET', path)
      assert.equal([status, body.length], [200, roles.length])
    }))
})
