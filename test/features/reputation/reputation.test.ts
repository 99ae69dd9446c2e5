import * as assert from 'uvu/assert'
import { foldTalliesJob } from '../../../src/features/analytics/fold-tallies.job.ts'
import { noteNotifications } from '../../../src/features/notifications/notifications.ts'
import { reportOf } from '../../../src/features/notifications/report.rules.ts'
import { purgeExpiredJob } from '../../../src/features/operations/purge-expired.job.ts'
import { setProjectDisabled } from '../../../src/features/projects/projects.ts'
import { checkReputationJob } from '../../../src/features/reputation/check-reputation.job.ts'
import { levelsOf, type MailCounts, since } from '../../../src/features/reputation/reputation.rules.ts'
import { resetProject } from '../../../src/features/wipes/wipes.ts'
import { member } from '../../support/browser-session.ts'
import { HOUR } from '../../support/clock.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'
import { type Project, type Service, startService } from '../../support/service.ts'
import { workThrough } from '../../support/work.ts'
import { countMail } from '../analytics/analytics-support.ts'
import { applied, left } from '../notifications/notification-support.ts'

const levels = (sevenDays: Partial<MailCounts>, allTime: Partial<MailCounts> = {}) => {
  const none = { sent: 0, bounced: 0, complained: 0 }
  return Object.values(levelsOf({ sevenDays: { ...none, ...sevenDays }, allTime: { ...none, ...allTime } }))
}

scenario('Levels of reputation', nothingShared, (test) => {
  test('begin with enough mail, and warn at half', () => {
    const bounces = (sent: number, bounced: number) => levels({ sent, bounced })[0]
    assert.equal(
      [
        bounces(99, 99),
        bounces(100, 9),
        bounces(100, 10),
        bounces(200, 10),
        bounces(201, 10),
        bounces(1_000, 99),
      ],
      ['HEALTHY', 'HEALTHY', 'CRITICAL', 'WARNING', 'HEALTHY', 'WARNING'],
    )
    const ever = (sent: number, bounced: number) => levels({}, { sent, bounced })[1]
    assert.equal([ever(1_000, 80), ever(1_000, 79), ever(1_000, 39)], ['CRITICAL', 'WARNING', 'HEALTHY'])
    const complaints = (sent: number, complained: number) => levels({ sent, complained })[2]
    assert.equal(
      [complaints(100, 4), complaints(10_000, 15), complaints(10_000, 14), complaints(10_000, 7)],
      ['HEALTHY', 'CRITICAL', 'WARNING', 'HEALTHY'],
    )
    const everComplained = (sent: number, complained: number) => levels({}, { sent, complained })[3]
    assert.equal(
      [everComplained(10_000, 12), everComplained(10_000, 11), everComplained(10_000, 5)],
      ['CRITICAL', 'WARNING', 'HEALTHY'],
    )
  })

  test('leave out what is settled', () => {
    const counts = { sent: 500, bounced: 60, complained: 6 }
    const before = { sent: 400, bounced: 55, complained: 6 }
    const left = { sent: 100, bounced: 5, complained: 0 }
    assert.equal(since({ sevenDays: counts, allTime: counts }, before), { sevenDays: left, allTime: left })
    assert.equal(since({ sevenDays: left, allTime: counts }, null), { sevenDays: left, allTime: counts })
  })
})

async function bounce(service: Service, project: Project, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const mail = await left(service, `bounce${index}-${Math.random()}@example.org`, project)
    await noteNotifications(service.ctx(), [
      {
        source: 'test',
        id: mail.id,
        token: null,
        reports: [reportOf('BOUNCED', new Date(), { messageId: mail.messageId })],
      },
    ])
  }
  await applied(service)
  await workThrough(service, checkReputationJob)
}

const start = () => startService({ ROLES: 'http' })

scenario('The reputation of a project', start, (test) => {
  test('disables it, and an operator enables it again', async (service) => {
    const { project } = service
    const security = async () => (await service.as().get(`/projects/${project.id}/security`)).body
    await left(service, 'first@example.org')
    assert.equal(await security(), {
      status: 'HEALTHY',
      levels: Object.fromEntries(
        ['bounceSevenDays', 'bounceAllTime', 'complaintSevenDays', 'complaintAllTime'].map((name) => [
          name,
          'HEALTHY',
        ]),
      ),
      rates: {
        sevenDays: { sent: 1, bounced: 0, complained: 0, bounceRate: 0, complaintRate: 0 },
        allTime: { sent: 1, bounced: 0, complained: 0, bounceRate: 0, complaintRate: 0 },
      },
      suspensions: [],
      isDisabled: false,
    })
    await countMail(service, project, { sent: 189 })
    await bounce(service, project, 10)
    const warned = await security()
    assert.equal(
      [warned.status, warned.levels.bounceSevenDays, warned.isDisabled],
      ['WARNING', 'WARNING', false],
    )
    assert.equal(warned.rates.sevenDays, {
      sent: 200,
      bounced: 10,
      complained: 0,
      bounceRate: 5,
      complaintRate: 0,
    })
    await workThrough(service, foldTalliesJob)
    assert.equal((await security()).rates, warned.rates, 'counts are the same once they are folded')
    const isDue = async () => (await checkReputationJob.pending(service.ctx())).length > 0
    assert.is(await isDue(), false)
    service.clock.advance(25 * HOUR)
    assert.is(await isDue(), true, 'a level that is not healthy is looked at every day')
    await workThrough(service, checkReputationJob)
    assert.is(await isDue(), false)
    await bounce(service, project, 13)
    const disabled = await security()
    assert.equal([disabled.status, disabled.isDisabled], ['CRITICAL', true])
    const [suspension] = disabled.suspensions
    assert.equal([suspension.reason, suspension.liftedAt], ['EMAIL_REPUTATION', null])
    assert.equal(suspension.details.allTime, { sent: 213, bounced: 23, complained: 0 })
    const refused = await service.as().post('/contacts', { email: 'new@example.org' })
    assert.equal([refused.status, refused.body.error.code], [403, 'PROJECT_DISABLED'])
    await setProjectDisabled(service.ctx(), project.id, null)
    const enabled = await security()
    assert.equal([enabled.status, enabled.isDisabled], ['HEALTHY', false])
    assert.ok(enabled.suspensions[0].liftedAt)
    await bounce(service, project, 1)
    assert.is((await security()).isDisabled, false)
    await countMail(service, project, { sent: 90 })
    await bounce(service, project, 11)
    assert.equal([(await security()).isDisabled, (await security()).suspensions.length], [true, 2])
  })

  test('outlives contacts, a reset and what is kept of counts, and is of the project alone', async (service) => {
    const project = await service.newProject()
    const path = `/projects/${project.id}/security`
    const rates = async () => (await service.as(project).get(path)).body.rates
    const kept = { sent: 150, bounced: 1, complained: 1, bounceRate: 0.667, complaintRate: 0.667 }
    await left(service, 'kept@example.org', project)
    await countMail(service, project, { sent: 149, bounced: 1, complained: 1 })
    await service.sql('delete from contacts where project_id = $1', [project.id])
    await resetProject(service.ctx(), project.id)
    assert.equal(await rates(), { sevenDays: kept, allTime: kept })
    await workThrough(service, foldTalliesJob)
    const quarters = async () => {
      const rows = await service.sql(
        'select quarter::text, sum(sent)::int as sent from mail_counts where project_id = $1 group by 1 order by 1',
        [project.id],
      )
      return rows.map(({ quarter, sent }) => [quarter === '-infinity' ? 'before' : 'quarter', sent])
    }
    const before = await quarters()
    assert.ok(before.every(([name]) => name === 'quarter'))
    service.clock.advance(400 * 24 * HOUR)
    await purgeExpiredJob.run(service.ctx(), {})
    assert.equal(await quarters(), before, 'counts are kept for EVENT_COUNT_RETENTION_DAYS')
    // More than one statement takes.
    await service.sql(
      `insert into mail_counts (project_id, quarter, provider, sent)
       select $1, timestamptz '2020-01-01 00:00Z' + n * interval '15 minutes', 'GMAIL', 1 from generate_series(1, 1200) n`,
      [project.id],
    )
    await countMail(service, project, { sent: 7 })
    await workThrough(service, foldTalliesJob)
    service.clock.advance(2 * 24 * HOUR)
    for (const _again of [1, 2]) await purgeExpiredJob.run(service.ctx(), {})
    assert.equal(await quarters(), [
      ['before', 1_350],
      ['quarter', 7],
    ])
    const { sevenDays, allTime } = await rates()
    assert.equal([sevenDays.sent, allTime.sent, allTime.bounced, allTime.complained], [7, 1_357, 1, 1])
    assert.is((await service.as().get(path)).status, 404)
    assert.is((await service.call('GET', path)).status, 401)
    assert.is((await service.as(project).get(`/users/@me${path}`)).status, 401)
  })
})

scenario(
  'With AUTO_PROJECT_DISABLE=false',
  () => startService({ ROLES: 'http', AUTO_PROJECT_DISABLE: 'false' }),
  (test) => {
    test('a project is not disabled; its people are told when the level gets worse', async (service) => {
      const { email: admin } = await member(service, 'ADMIN')
      await countMail(service, service.project, { sent: 90 })
      await bounce(service, service.project, 12)
      const { body } = await service.as().get(`/projects/${service.project.id}/security`)
      assert.equal([body.status, body.isDisabled, body.suspensions], ['CRITICAL', false, []])
      const level = async () => {
        const [row] = await service.sql('select level from reputation_states')
        const told = await service.sql(
          `select data ->> 'to' as to from pgboss.job where name = 'service-mail.send' and data ->> 'subject' like 'Much mail%'`,
        )
        return [row?.level, told.map(({ to }) => to)]
      }
      assert.equal(await level(), ['CRITICAL', [admin]])
      await bounce(service, service.project, 1)
      await countMail(service, service.project, { sent: 140 })
      service.clock.advance(25 * HOUR)
      await workThrough(service, checkReputationJob)
      assert.equal(await level(), ['WARNING', [admin]])
      await countMail(service, service.project, { sent: 1_000 })
      service.clock.advance(25 * HOUR)
      await workThrough(service, checkReputationJob)
      assert.equal(await level(), ['HEALTHY', [admin]])
      service.clock.advance(25 * HOUR)
      assert.equal(await checkReputationJob.pending(service.ctx()), [])
    })
  },
)
