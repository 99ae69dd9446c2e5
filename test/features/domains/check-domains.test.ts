import * as assert from 'uvu/assert'
import { member } from '../../support/browser-session.ts'
import { HOUR, MINUTE } from '../../support/clock.ts'
import type { Misbehaviour } from '../../support/dns-server.ts'
import { sendBody } from '../../support/mailing.ts'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import type { Body } from '../../support/service.ts'
import {
  add,
  newName,
  published,
  recordOf,
  startChecked,
  statesOf,
  verify,
  workThroughChecks,
} from './domain-support.ts'

const start = () =>
  startChecked({
    SMTP_URL: 'smtp://127.0.0.1:9',
    SMTP_SPF: 'include:spf.relay.example ip4:192.0.2.7',
    INBOUND_MX: 'mx.service.example',
    SERVICE_MAIL_FROM: 'service@mail.example',
    DOMAIN_WARM_UP: '50,100',
  })

scenario('A check of a domain that mail leaves from by SMTP', start, (test) => {
  test('verifies it once its key is found, and says of each record what was found', async (service) => {
    const { dns, as, project } = service
    const added = await add(service)
    const { domain, id } = added
    assert.equal(
      added.records.map(({ type, name, value, priority, required, found }: Body) => [
        ...[type, name, value.slice(0, 20), priority, required, found],
      ]),
      [
        ['TXT', `mailwright._domainkey.${domain}`, 'v=DKIM1; k=rsa; p=MI', null, true, null],
        ['TXT', domain, 'v=spf1 include:spf.r', null, false, null],
        ['TXT', `_dmarc.${domain}`, 'v=DMARC1; p=none', null, false, null],
        ['MX', domain, 'mx.service.example', 10, false, null],
      ],
    )
    await dns.serve({})
    const warmUpFrom = async () => {
      const [row] = await service.sql('select warm_up_from::text as day from domains where id = $1', [id])
      return row?.day
    }
    const missing = await verify(service, id)
    assert.is(await warmUpFrom(), null)
    assert.equal([missing.status, missing.verified], ['PENDING', false])
    assert.equal(recordOf(missing, 'DKIM').found, [])
    assert.match(recordOf(missing, 'DKIM').message, 'NXDOMAIN')

    await dns.serve(published([recordOf(added, 'DKIM')]))
    const verified = await verify(service, id)
    assert.equal([verified.status, verified.verified], ['VERIFIED', true])
    assert.is(await warmUpFrom(), verified.verifiedAt.slice(0, 10))
    assert.equal(statesOf(verified), {
      DKIM: 'VERIFIED',
      SPF: 'PENDING',
      DMARC: 'PENDING',
      INBOUND: 'PENDING',
    })
    assert.equal(recordOf(verified, 'DKIM').found, [recordOf(added, 'DKIM').value])
    assert.is((await as().post('/v1/send', sendBody(project, { from: `hello@${domain}` }))).status, 200)

    await dns.serve(published(added.records))
    assert.equal(new Set(Object.values(statesOf(await verify(service, id)))), new Set(['VERIFIED']))
  })

  test('tells apart what is wrong with a record', async (service) => {
    const { dns } = service
    const added = await add(service)
    const { domain, id } = added
    const key: string = recordOf(added, 'DKIM').value
    const place = `mailwright._domainkey.${domain}`
    const dkim: [string[], string, RegExp | null][] = [
      [[key], 'VERIFIED', null],
      [[`p=${key.slice(key.indexOf('p=') + 2).replace(/(.{60})/g, '$1 ')}; k=rsa`], 'VERIFIED', null],
      [[`${key.slice(0, -8)}AAAAAAAA`], 'FAILED', /another key/],
      [['v=DKIM1; p='], 'FAILED', /revoked/],
      [['hello'], 'FAILED', /no p=/],
      [[key, key], 'FAILED', /several/],
    ]
    for (const [TXT, status, message] of dkim) {
      await dns.serve({ [place]: { TXT } })
      const record = recordOf(await verify(service, id), 'DKIM')
      assert.is(record.status, status, TXT.join())
      if (message) assert.match(record.message, message)
      else assert.is(record.message, null)
    }
    const spf: [string[], string, RegExp | null][] = [
      [['other=1', 'v=spf1 a include:SPF.relay.example +ip4:192.0.2.7 -all'], 'VERIFIED', null],
      [['v=spf1 include:spf.relay.example ~all'], 'FAILED', /Add ip4:192.0.2.7/],
      [['v=spf1 -all', 'v=spf1 a -all'], 'FAILED', /Join them/],
      [['other=1'], 'FAILED', /no such record/],
    ]
    for (const [TXT, status, message] of spf) {
      await dns.serve({ [domain]: { TXT } })
      const record = recordOf(await verify(service, id), 'SPF')
      assert.is(record.status, status, TXT.join())
      if (message) assert.match(record.message, message)
    }
    const dmarc: [string[], string, RegExp | null][] = [
      [['v=DMARC1; p=reject; adkim=s'], 'VERIFIED', null],
      [['v=DMARC1; p=everything'], 'FAILED', /understand/],
      [['v=DMARC1; p=none', 'v=DMARC1; p=none'], 'FAILED', /several/],
    ]
    for (const [TXT, status, message] of dmarc) {
      await dns.serve({ [`_dmarc.${domain}`]: { TXT } })
      const record = recordOf(await verify(service, id), 'DMARC')
      assert.is(record.status, status, TXT.join())
      if (message) assert.match(record.message, message)
    }
    await dns.serve({ [domain]: { MX: ['5 elsewhere.example'] } })
    const inbound = recordOf(await verify(service, id), 'INBOUND')
    assert.equal([inbound.status, inbound.found], ['FAILED', ['5 elsewhere.example']])
  })

  test('takes the DMARC record of the organisational domain, by the list of public suffixes', async (service) => {
    const { dns } = service
    const name = `n${newName().replace('.example', '')}.co.uk`
    const { id } = await add(service, `mail.news.${name}`)
    await dns.serve({ [`_dmarc.${name}`]: { TXT: ['v=DMARC1; p=reject; sp=none'] } })
    const record = recordOf(await verify(service, id), 'DMARC')
    assert.equal(
      [record.status, record.message],
      ['VERIFIED', `The record of ${name} applies to its subdomains.`],
    )
    await dns.serve({ '_dmarc.co.uk': { TXT: ['v=DMARC1; p=reject'] } })
    assert.is(recordOf(await verify(service, id), 'DMARC').status, 'FAILED')
  })

  test('is made every 5 minutes while records are awaited, and hourly after that', async (service) => {
    const { dns, clock, sql } = service
    const added = await add(service)
    const checkedAt = async () => {
      await workThroughChecks(service)
      const [row] = await sql('select last_checked_at, status from domains where id = $1', [added.id])
      return [row?.last_checked_at?.getTime() ?? 0, row?.status]
    }
    await dns.serve({})
    assert.equal(await checkedAt(), [0, 'PENDING'])
    clock.advance(5 * MINUTE)
    const [first] = await checkedAt()
    assert.ok(first > 0)
    await dns.serve(published(added.records))
    assert.equal(await checkedAt(), [first, 'PENDING'])
    clock.advance(5 * MINUTE)
    const [second, status] = await checkedAt()
    assert.ok(second > first)
    assert.is(status, 'VERIFIED')
    clock.advance(30 * MINUTE)
    assert.equal(await checkedAt(), [second, 'VERIFIED'])
    clock.advance(30 * MINUTE)
    assert.ok((await checkedAt())[0] > second)
  })

  test('never makes a domain unverified because nobody answered', async (service) => {
    const { dns, clock } = service
    const added = await add(service)
    await dns.serve(published(added.records))
    assert.is((await verify(service, added.id)).status, 'VERIFIED')
    for (const others of ['SERVFAIL', 'REFUSED', 'garbage'] satisfies Misbehaviour[]) {
      await dns.serve({ '*': { others } })
      for (let day = 0; day < 5; day += 1) {
        clock.advance(24 * HOUR)
        await workThroughChecks(service)
      }
      const after = await verify(service, added.id)
      assert.is(after.status, 'VERIFIED')
      const { status, found, message } = recordOf(after, 'DKIM')
      assert.equal([status, found], ['VERIFIED', null])
      assert.match(message, /no answer \(E\w+\)/)
    }
  })

  test('makes it unverified when its records are gone for 72 hours, not before, and tells the admins', async (service) => {
    const { dns, clock, sql } = service
    const admin = await member(service, 'ADMIN')
    await member(service, 'MEMBER')
    const added = await add(service)
    const told = async () => {
      const jobs = await sql(
        `select data ->> 'to' as to from pgboss.job where name = 'service-mail.send' and data ->> 'subject' = $1`,
        [`Mail from ${added.domain} is refused: its DNS records are gone`],
      )
      return jobs.map(({ to }) => to)
    }
    const right = published(added.records)
    const statusAfter = async (hours: number) => {
      clock.advance(hours * HOUR)
      await workThroughChecks(service)
      return (await verify(service, added.id)).status
    }
    await dns.serve(right)
    assert.is(await statusAfter(1), 'VERIFIED')
    await dns.serve({})
    assert.is(await statusAfter(1), 'VERIFIED')
    assert.is(await statusAfter(71), 'VERIFIED')
    // They are there again: the time begins anew.
    await dns.serve(right)
    assert.is(await statusAfter(1), 'VERIFIED')
    await dns.serve({})
    assert.is(await statusAfter(1), 'VERIFIED')
    await dns.serve({ '*': { others: 'SERVFAIL' } })
    assert.is(await statusAfter(100), 'VERIFIED')
    await dns.serve({})
    assert.equal(await told(), [])
    assert.is(await statusAfter(1), 'PENDING')
    assert.equal(await told(), [admin.email])
    await dns.serve(right)
    assert.is(await statusAfter(1), 'VERIFIED')
  })

  test('leaves a domain verified that the operator vouches for', async (service) => {
    const { dns, clock, project } = service
    await dns.serve({})
    clock.advance(HOUR)
    await workThroughChecks(service)
    clock.advance(100 * HOUR)
    await workThroughChecks(service)
    const { body } = await service.as().get(`/domains/project/${project.id}`)
    const vouched = body.find(({ domain }: Body) => domain === project.domain)
    assert.is(vouched.status, 'VERIFIED')
    assert.equal(recordOf(vouched, 'DKIM').found, [])
  })

  test('is made for the project only, and 60 times a minute', async (service) => {
    const { as, newProject, dns } = service
    await dns.serve({})
    const other = await newProject()
    const { id } = await add(service)
    assertRefused(await as(other).get(`/domains/${id}/verify`), 404, 'DOMAIN_NOT_FOUND')
    assertRefused(await as().get('/domains/mine/verify'), 404, 'RESOURCE_NOT_FOUND')
    const { body } = await as(other).get(`/domains/project/${other.id}`)
    const answers = await Promise.all(
      Array.from({ length: 130 }, () => as(other).get(`/domains/${body[0].id}/verify`)),
    )
    const refused = answers.filter(({ status }) => status === 429)
    // The minute may end meanwhile.
    assert.ok(refused.length >= 5, `${refused.length} of 130 were refused`)
    assert.ok(Number(refused[0]?.headers.get('retry-after')) >= 1)
    for (const answer of refused) assertRefused(answer, 429, 'RATE_LIMIT_EXCEEDED')
  })
})
