import * as assert from 'uvu/assert'
import { HOUR } from '../../support/clock.ts'
import { assertGraphQLRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import type { Body } from '../../support/service.ts'
import { countMail } from '../analytics/analytics-support.ts'
import { add, newName, published, startChecked, verify } from '../domains/domain-support.ts'

const REPORT = `query ($projectId: ID!) {
  complianceReport(projectId: $projectId) { since sent checks { name domain state value advice source } }
}`

const start = () =>
  startChecked({
    SMTP_URL: 'smtps://127.0.0.1:9',
    SMTP_SPF: 'ip4:192.0.2.7',
    API_URL: 'https://mail.service.example',
  })

scenario('The compliance report', start, (test) => {
  test('tells of each domain and of the service what is kept, and what to do', async (service) => {
    const { dns, as } = service
    const project = await service.newProject()
    const own = { ...service, as: (who: Parameters<typeof as>[0] = project) => as(who) }
    const [good, bad] = [await add(own), await add(own, `mail.${newName()}`)]
    const policy = { [`_dmarc.${good.domain}`]: { TXT: ['v=DMARC1; p=none; aspf=s'] } }
    await dns.serve({
      ...published(good.records),
      ...policy,
      [bad.domain]: { TXT: ['v=spf1 ip4:192.0.2.7 -all'] },
    })
    for (const { id } of [good, bad]) await verify(own, id)
    const { body } = await own.as().graphql(REPORT, { projectId: project.id })
    const { sent, checks } = body.data.complianceReport
    assert.is(sent, 0)
    const of = (domain: string | null) =>
      Object.fromEntries(
        checks.filter((check: Body) => check.domain === domain).map((check: Body) => [check.name, check]),
      )
    const states = (domain: string | null) =>
      Object.fromEntries(Object.entries<Body>(of(domain)).map(([name, { state }]) => [name, state]))
    assert.equal(states(good.domain), { SPF: 'PASS', DKIM: 'PASS', DMARC: 'PASS', ALIGNMENT: 'PASS' })
    assert.is(of(good.domain).DMARC.value, 'v=DMARC1; p=none; aspf=s')
    assert.match(of(good.domain).DMARC.advice, 'only observes')
    assert.equal(states(bad.domain), { SPF: 'PASS', DKIM: 'FAIL', DMARC: 'FAIL', ALIGNMENT: 'WARN' })
    assert.match(of(bad.domain).DKIM.advice, `Publish TXT mailwright._domainkey.${bad.domain}`)
    assert.equal(states(null), {
      ...{
        ONE_CLICK: 'PASS',
        PTR: 'UNKNOWN',
        TLS: 'PASS',
        COMPLAINT_RATE: 'UNKNOWN',
        BOUNCE_RATE: 'UNKNOWN',
      },
    })
    for (const { source } of checks)
      assert.match(source, /^https:\/\/(?:support\.google|docs\.aws\.amazon)\.com\//)
    const other = await service.newProject()
    assertGraphQLRefused(
      await as(other).graphql(REPORT, { projectId: project.id }),
      404,
      'RESOURCE_NOT_FOUND',
    )
  })

  test('counts bounces and complaints of 7 days against what was sent', async (service) => {
    const { clock, project } = service
    const rates = async () => {
      const { body } = await service.as().graphql(REPORT, { projectId: project.id })
      const { sent, checks } = body.data.complianceReport
      const found = checks.filter(({ name }: Body) => /_RATE$/.test(name))
      return [sent, ...found.map(({ state, value }: Body) => [state, value])]
    }
    await countMail(service, project, { sent: 1_000, bounced: 49, softBounced: 100 })
    assert.equal(await rates(), [1_000, ['PASS', '0 % (0 of 1000)'], ['PASS', '4.9 % (49 of 1000)']])
    await countMail(service, project, { bounced: 1, complained: 1 })
    assert.equal(await rates(), [1_000, ['WARN', '0.1 % (1 of 1000)'], ['WARN', '5 % (50 of 1000)']])
    await countMail(service, project, { bounced: 50, complained: 2 })
    assert.equal(await rates(), [1_000, ['FAIL', '0.3 % (3 of 1000)'], ['FAIL', '10 % (100 of 1000)']])
    clock.advance(8 * 24 * HOUR)
    assert.equal(await rates(), [0, ['UNKNOWN', '0 % (0 of 0)'], ['UNKNOWN', '0 % (0 of 0)']])
  })
})
