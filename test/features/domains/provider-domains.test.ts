import * as assert from 'uvu/assert'
import { HOUR } from '../../support/clock.ts'
import { startMailgunApi } from '../../support/mailgun-api.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import type { Body } from '../../support/service.ts'
import { startSesApi, tokensOf } from '../../support/ses-api.ts'
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

async function startWithMailgun() {
  const api = await startMailgunApi()
  return { ...(await startChecked(api.env, api.stop)), api }
}

async function startWithSes() {
  const api = await startSesApi()
  return { ...(await startChecked(api.env, api.stop)), api }
}

const listed = (domain: Body) =>
  domain.records.map(({ type, name, value, priority, purpose, required }: Body) => [
    ...[type, name, value, priority, purpose, required],
  ])

scenario('A domain of Mailgun', startWithMailgun, (test) => {
  test('is added to the account, and is verified when Mailgun says so', async (service) => {
    const { api, dns, clock } = service
    await dns.serve({})
    const before = api.domains.state.calls.length
    const added = await add(service)
    const { domain, id } = added
    assert.equal(api.domains.state.calls.slice(before), [
      `GET /v4/domains/${domain}`,
      'POST /v4/domains',
      `GET /v4/domains/${domain}`,
      `PUT /v4/domains/${domain}/verify`,
    ])
    assert.equal(listed(added), [
      ['TXT', domain, 'v=spf1 include:mailgun.org ~all', null, 'SPF', true],
      ['TXT', `mx._domainkey.${domain}`, 'k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQ', null, 'DKIM', true],
      ['TXT', `_mailwright.${domain}`, `mailwright-verification=${id}`, null, 'OWNERSHIP', true],
      ['TXT', `_dmarc.${domain}`, 'v=DMARC1; p=none', null, 'DMARC', false],
    ])
    const right = published(added.records)
    await dns.serve(right)
    const unseen = await verify(service, id)
    assert.is(unseen.status, 'PENDING')
    assert.equal(new Set(Object.values(statesOf(unseen))), new Set(['VERIFIED']))
    api.domains.state.checked.set(domain, 'active')
    assert.is((await verify(service, id)).status, 'VERIFIED')

    // A provider that is away says nothing about the domain.
    api.domains.state.isDown = true
    clock.advance(200 * HOUR)
    await workThroughChecks(service)
    const meanwhile = await verify(service, id)
    assert.equal([meanwhile.status, meanwhile.records.length], ['VERIFIED', 4])
    api.domains.state.isDown = false

    api.domains.states.set(domain, 'unverified')
    api.domains.state.checked.delete(domain)
    assert.is((await verify(service, id)).status, 'VERIFIED')
    clock.advance(73 * HOUR)
    assert.is((await verify(service, id)).status, 'PENDING')
    api.domains.states.set(domain, 'disabled')
    assert.is((await verify(service, id)).status, 'FAILED')
  })

  test("is not another project's because the account has it", async (service) => {
    const { api, dns, as, newProject } = service
    const domain = newName()
    api.domains.states.set(domain, 'active')
    const first = await add(service, domain)
    await dns.serve(published(first.records))
    assert.is((await verify(service, first.id)).status, 'VERIFIED')
    assert.is((await as().delete(`/domains/${first.id}`)).status, 204)
    const other = await newProject()
    const taken = await as(other).post('/domains', { domain })
    assert.is(taken.status, 201)
    const { body } = await as(other).get(`/domains/${taken.body.id}/verify`)
    assert.is(body.status, 'PENDING')
    assert.match(recordOf(body, 'OWNERSHIP').message, 'another text')
  })

  test('is refused when Mailgun does not take it, or is away', async (service) => {
    const { api, as, sql } = service
    const domain = newName()
    api.domains.state.taken.add(domain)
    assertRefused(await as().post('/domains', { domain }), 502, 'EXTERNAL_SERVICE_ERROR')
    api.domains.state.isDown = true
    const answer = await as().post('/domains', { domain: newName() })
    api.domains.state.isDown = false
    assertRefused(answer, 502, 'EXTERNAL_SERVICE_ERROR')
    assert.is((await sql('select from domains where domain = $1', [domain])).length, 0)
  })

  test('has no key of ours to replace', async (service) => {
    const { id } = await add(service)
    const query = `mutation { rotateDkimKey(domainId: "${id}") { id } }`
    assertGraphQLRefused(await service.as().graphql(query), 409, 'CONFLICT')
  })
})

scenario('A domain of Amazon SES', startWithSes, (test) => {
  test('becomes an identity, and is verified when Amazon says so', async (service) => {
    const { api, dns, clock } = service
    await dns.serve({})
    const added = await add(service)
    const { domain, id } = added
    assert.equal(listed(added), [
      ...tokensOf(domain).map((token) => [
        ...['CNAME', `${token}._domainkey.${domain}`, `${token}.dkim.amazonses.com`, null, 'DKIM', true],
      ]),
      ['MX', `bounce.${domain}`, 'feedback-smtp.eu-west-1.amazonses.com', 10, 'RETURN_PATH', false],
      ['TXT', `bounce.${domain}`, 'v=spf1 include:amazonses.com ~all', null, 'SPF', false],
      ['TXT', `_mailwright.${domain}`, `mailwright-verification=${id}`, null, 'OWNERSHIP', true],
      ['TXT', `_dmarc.${domain}`, 'v=DMARC1; p=none', null, 'DMARC', false],
    ])
    await dns.serve(published(added.records))
    assert.is((await verify(service, id)).status, 'PENDING')
    const identity = api.identities.get(domain)
    if (!identity) throw new Error('there is no identity')
    Object.assign(identity, { dkim: 'SUCCESS', verified: true })
    const verified = await verify(service, id)
    assert.is(verified.status, 'VERIFIED')
    assert.equal(new Set(Object.values(statesOf(verified))), new Set(['VERIFIED']))

    identity.dkim = 'TEMPORARY_FAILURE'
    clock.advance(200 * HOUR)
    await workThroughChecks(service)
    assert.is((await verify(service, id)).status, 'VERIFIED')
    Object.assign(identity, { dkim: 'FAILED', verified: false })
    assert.is((await verify(service, id)).status, 'VERIFIED')
    clock.advance(73 * HOUR)
    assert.is((await verify(service, id)).status, 'PENDING')
  })

  test('is taken as it is when the account has it', async (service) => {
    const { api, dns } = service
    const domain = newName()
    api.identities.set(domain, { dkim: 'SUCCESS', verified: true, mailFrom: null })
    const added = await add(service, domain)
    assert.equal(
      added.records.map(({ purpose }: Body) => purpose),
      ['DKIM', 'DKIM', 'DKIM', 'OWNERSHIP', 'DMARC'],
    )
    await dns.serve(published([recordOf(added, 'OWNERSHIP')]))
    assert.is((await verify(service, added.id)).status, 'VERIFIED')
  })
})
