import * as assert from 'uvu/assert'
import { SYSTEM } from '../../../src/admission/access.ts'
import { createCtx } from '../../../src/ctx.ts'
import { markVerified } from '../../../src/features/users/users.ts'
import {
  type BrowserSession,
  browserAt,
  join,
  member,
  PASSWORD,
  signedUp,
} from '../../support/browser-session.ts'
import { HOUR } from '../../support/clock.ts'
import { hold } from '../../support/held-lock.ts'
import { scenario } from '../../support/scenario.ts'
import { type Answer, type Project, type Service, startService } from '../../support/service.ts'

const start = () => startService({ ROLES: 'http' })

const pathOf = ({ id }: Project, userId = '') => `/projects/${id}/members${userId && `/${userId}`}`

const idOf = async ({ sql }: Service, { email }: BrowserSession): Promise<string> => {
  const [row] = await sql<{ id: string }>('select id from users where email = $1', [email])
  return row?.id ?? ''
}

/** A project with an owner and somebody in each of the given roles. */
async function projectWith(service: Service) {
  const project = await service.newProject()
  const [owner, admin, worker] = await Promise.all([
    member(service, 'OWNER', project),
    member(service, 'ADMIN', project),
    member(service, 'MEMBER', project),
  ])
  return { project, owner, admin, worker }
}

/** Requests that change members, in the order in which they get the lock: all have been let in before one can go on. */
async function atOnce(
  { databaseUrl }: Service,
  project: Project,
  requests: (() => Promise<Answer>)[],
): Promise<Answer[]> {
  const held = await hold(databaseUrl, 'select from projects where id = $1 for no key update', [project.id])
  const answers: Promise<Answer>[] = []
  for (const [index, request] of requests.entries()) {
    answers.push(request())
    await held.waiters(index + 1)
  }
  await held.release()
  return Promise.all(answers)
}

const statuses = (answers: Answer[]) => answers.map(({ status }) => status)

scenario('Members of a project', start, (test) => {
  test('are listed, invited, given roles and removed, over REST', async (service) => {
    const { project, owner, admin, worker } = await projectWith(service)
    const list = await worker.call('GET', pathOf(project))
    assert.is(list.status, 200)
    assert.equal(
      list.body.map(({ email, role }: { email: string; role: string }) => [email, role]).toSorted(),
      [
        [owner.email, 'OWNER'],
        [admin.email, 'ADMIN'],
        [worker.email, 'MEMBER'],
      ].toSorted(),
    )
    assert.equal(Object.keys(list.body[0]).toSorted(), ['createdAt', 'email', 'role', 'userId'])
    const guest = await signedUp(service)
    const invited = await admin.call('POST', pathOf(project), {
      email: guest.email.toUpperCase(),
      role: 'MEMBER',
    })
    assert.is(invited.status, 201)
    assert.is(invited.body.userId, await idOf(service, guest))
    assert.is((await guest.call('GET', '/contacts', undefined, project.id)).status, 200)
    const again = await admin.call('POST', pathOf(project), { email: guest.email, role: 'ADMIN' })
    assert.is(again.status, 409)
    const changed = await admin.call('PATCH', pathOf(project, invited.body.userId), { role: 'ADMIN' })
    assert.is(changed.status, 200)
    assert.is(changed.body.role, 'ADMIN')
    const removed = await owner.call('DELETE', pathOf(project, invited.body.userId))
    assert.is(removed.status, 204)
    assert.is((await guest.call('GET', '/contacts', undefined, project.id)).status, 403)
    assert.is((await guest.call('GET', pathOf(project))).status, 404)
    assert.is((await owner.call('DELETE', pathOf(project, invited.body.userId))).status, 404)
  })

  test('keep exactly one owner, and nobody can remove themselves', async (service) => {
    const { project, owner, admin, worker } = await projectWith(service)
    const [ownerId, adminId, workerId] = await Promise.all(
      [owner, admin, worker].map((someone) => idOf(service, someone)),
    )
    assert.is((await admin.call('DELETE', pathOf(project, ownerId))).status, 403)
    assert.is((await admin.call('PATCH', pathOf(project, ownerId), { role: 'MEMBER' })).status, 403)
    assert.is((await owner.call('PATCH', pathOf(project, ownerId), { role: 'ADMIN' })).status, 403)
    assert.is((await owner.call('DELETE', pathOf(project, ownerId))).status, 403)
    assert.is((await admin.call('DELETE', pathOf(project, adminId))).status, 403)
    for (const role of ['OWNER', 'owner', '', null]) {
      assert.is((await owner.call('PATCH', pathOf(project, workerId), { role })).status, 422)
      assert.is((await owner.call('POST', pathOf(project), { email: 'x@example.org', role })).status, 422)
    }
    assert.is((await owner.call('POST', pathOf(project), { email: 'nobody', role: 'ADMIN' })).status, 422)
    assert.is(
      (await worker.call('POST', pathOf(project), { email: 'x@example.org', role: 'MEMBER' })).status,
      403,
    )
    assert.is((await worker.call('DELETE', pathOf(project, adminId))).status, 403)
    assert.is((await owner.call('DELETE', pathOf(project, 'no-id'))).status, 404)
  })

  test('an address without an account is invited, which signing up accepts', async (service) => {
    const { project, admin } = await projectWith(service)
    const email = 'newcomer@example.org'
    const invited = await admin.call('POST', pathOf(project), { email, role: 'ADMIN' })
    assert.is(invited.status, 201)
    assert.equal([invited.body.userId, invited.body.role], [null, 'ADMIN'])
    assert.is((await admin.call('POST', pathOf(project), { email, role: 'MEMBER' })).status, 409)
    const list = `query ($id: ID!) { invitations(id: $id) { email role } }`
    const pending = async () => (await admin.graphql(list, { id: project.id })).body.data.invitations
    assert.equal(await pending(), [{ email, role: 'ADMIN' }])
    const guest = browserAt(service.url, email)
    await guest.call('POST', '/auth/signup', { email, password: PASSWORD })
    assert.is((await guest.call('GET', pathOf(project))).status, 404, 'anyone can sign up with an address')
    assert.is((await admin.call('POST', pathOf(project), { email, role: 'MEMBER' })).status, 409)
    const guestId = await idOf(service, guest)
    await service.ctx().atomically((tx) => markVerified(tx, guestId))
    assert.is((await guest.call('GET', pathOf(project))).status, 200)
    assert.equal(await pending(), [])
    const members = await admin.call('GET', pathOf(project))
    assert.ok(
      members.body.some(
        (one: { email: string; role: string }) => one.email === email && one.role === 'ADMIN',
      ),
    )
    await admin.call('POST', pathOf(project), { email: 'gone@example.org', role: 'ADMIN' })
    const withdraw = `mutation ($id: ID!) { withdrawInvitation(id: $id, email: "gone@example.org") }`
    assert.equal((await admin.graphql(withdraw, { id: project.id })).body.data, { withdrawInvitation: true })
    assert.equal(await pending(), [])
  })

  test('two administrators who remove each other at once: the first one wins', async (service) => {
    const { project, admin } = await projectWith(service)
    const other = await member(service, 'ADMIN', project)
    const [adminId, otherId] = [await idOf(service, admin), await idOf(service, other)]
    const answers = await atOnce(service, project, [
      () => admin.call('DELETE', pathOf(project, otherId)),
      () => other.call('DELETE', pathOf(project, adminId)),
    ])
    assert.equal(statuses(answers), [204, 404])
  })

  test('an administrator who is made a member meanwhile changes nothing any more', async (service) => {
    const { project, owner, admin, worker } = await projectWith(service)
    const [adminId, workerId] = [await idOf(service, admin), await idOf(service, worker)]
    const answers = await atOnce(service, project, [
      () => owner.call('PATCH', pathOf(project, adminId), { role: 'MEMBER' }),
      () => admin.call('PATCH', pathOf(project, workerId), { role: 'ADMIN' }),
      () => admin.call('POST', pathOf(project), { email: 'friend@example.org', role: 'ADMIN' }),
    ])
    assert.equal(statuses(answers), [200, 403, 403])
  })

  test('two invitations of one person at once make one', async (service) => {
    const { project, owner, admin } = await projectWith(service)
    const guest = await signedUp(service)
    for (const email of [guest.email, 'twice@example.org']) {
      const answers = await atOnce(service, project, [
        () => owner.call('POST', pathOf(project), { email, role: 'ADMIN' }),
        () => admin.call('POST', pathOf(project), { email, role: 'MEMBER' }),
      ])
      assert.equal(statuses(answers), [201, 409])
    }
  })

  test('an invitation and the account that it is for find each other, whichever comes first', async (service) => {
    const { project, admin } = await projectWith(service)
    const email = 'meanwhile@example.org'
    const other = await service.newProject()
    await join(service, admin, other, 'ADMIN')
    // The account is made but not committed; the invitation waits for it.
    const signingUp = await hold(
      service.databaseUrl,
      `with made as (insert into users (id, email, email_verified_at, created_at, updated_at)
         values (gen_random_uuid(), $1, now(), now(), now()))
       select pg_advisory_xact_lock(hashtextextended('invited ' || $1, 0))`,
      [email],
    )
    const inviting = admin.call('POST', pathOf(project), { email, role: 'MEMBER' })
    await signingUp.waiters(1)
    await signingUp.release('commit')
    const { status, body } = await inviting
    assert.is(status, 201)
    assert.type(body.userId, 'string')
  })

  test('an invitation that is being accepted is not withdrawn any more', async (service) => {
    const { project, admin } = await projectWith(service)
    const email = 'accepting@example.org'
    await admin.call('POST', pathOf(project), { email, role: 'MEMBER' })
    const guest = browserAt(service.url, email)
    await guest.call('POST', '/auth/signup', { email, password: PASSWORD })
    const guestId = await idOf(service, guest)
    // It has read the invitation and has not come further.
    const held = await hold(service.databaseUrl, 'lock table members in share mode')
    const worker = createCtx(service.app.services, SYSTEM, 'test', { connections: 'worker' })
    const accepting = worker.atomically((tx) => markVerified(tx, guestId))
    await held.waiters(1)
    const withdraw = 'mutation ($id: ID!, $email: String!) { withdrawInvitation(id: $id, email: $email) }'
    const withdrawing = admin.graphql(withdraw, { id: project.id, email })
    await held.waiters(2)
    await held.release()
    await accepting
    const { body } = await withdrawing
    assert.is(body.errors?.[0].extensions.code, 'RESOURCE_NOT_FOUND')
    assert.is((await guest.call('GET', pathOf(project))).status, 200)
  })

  test('whoever is invited gets a mail, fifty people a day at most', async (service) => {
    const { project, admin } = await projectWith(service)
    await service.sql('update projects set name = $2 where id = $1', [project.id, 'Our <b>shop</b>'])
    await admin.call('POST', pathOf(project), { email: 'mailed@example.org', role: 'MEMBER' })
    const [mail] = await service.sql(
      `select data from pgboss.job where name = 'service-mail.send' and data ->> 'to' = 'mailed@example.org'`,
    )
    assert.match(mail?.data.subject, 'Our <b>shop</b>')
    const email = (count: number) => `n${count}@example.org`
    for (let count = 2; count <= 50; count += 1) {
      await admin.call('POST', pathOf(project), { email: email(count), role: 'MEMBER' })
    }
    const over = await admin.call('POST', pathOf(project), { email: email(51), role: 'MEMBER' })
    assert.is(over.status, 429, over.text)
    service.clock.advance(25 * HOUR)
    assert.is((await admin.call('POST', pathOf(project), { email: email(51), role: 'MEMBER' })).status, 201)
  })

  test('what was changed is in the audit log, with who did it', async (service) => {
    const { project, owner, admin, worker } = await projectWith(service)
    const workerId = await idOf(service, worker)
    await admin.call('POST', pathOf(project), { email: 'pal@example.org', role: 'MEMBER' })
    await owner.call('PATCH', pathOf(project, workerId), { role: 'ADMIN' })
    await owner.call('DELETE', pathOf(project, workerId))
    const query = `query ($id: ID!, $limit: Int, $cursor: String) {
      auditLog(projectId: $id, limit: $limit, cursor: $cursor) {
        data { actorKind actor action target changes } cursor hasMore total } }`
    const { body } = await owner.graphql(query, { id: project.id, limit: 3 })
    assert.equal(body.data.auditLog.data, [
      { actorKind: 'USER', actor: owner.email, action: 'member.remove', target: worker.email, changes: {} },
      {
        ...{ actorKind: 'USER', actor: owner.email, action: 'member.update', target: worker.email },
        changes: { role: 'ADMIN' },
      },
      {
        ...{ actorKind: 'USER', actor: admin.email, action: 'member.invite', target: 'pal@example.org' },
        changes: { role: 'MEMBER' },
      },
    ])
    const { cursor, hasMore, total } = body.data.auditLog
    assert.ok(hasMore && total > 3)
    const next = await owner.graphql(query, { id: project.id, limit: 100, cursor })
    assert.is(next.body.data.auditLog.data.length, total - 3)
    const refused = await worker.graphql(query, { id: project.id })
    assert.is(refused.body.errors[0].extensions.code, 'RESOURCE_NOT_FOUND')
  })
})
