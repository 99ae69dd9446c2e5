import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { applyReportsJob } from '../../../src/features/notifications/apply-reports.job.ts'
import { noteNotifications } from '../../../src/features/notifications/notifications.ts'
import { reportOf } from '../../../src/features/notifications/report.rules.ts'
import type { ReportKind } from '../../../src/generated/prisma/enums.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { turnOf } from '../../support/work.ts'
import { newCampaign } from '../campaigns/campaign-support.ts'
import { applied, asCampaign, fateOf, type Left, left, talliesOf } from './notification-support.ts'

const start = () => startService({ ROLES: 'http' })
const SEED = 20_260_102

/** The same numbers at every run (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Told = { id: string; kind: ReportKind; at: number }

const shuffled = <Item>(items: Item[], random: () => number): Item[] =>
  items
    .map((item) => ({ item, place: random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item)

const notificationOf = (mail: Pick<Left, 'id' | 'messageId' | 'to'>, { id, kind, at }: Told) => ({
  source: 'test',
  id: `${mail.id} ${id}`,
  token: null,
  reports: [
    reportOf(kind, new Date(at), { messageId: mail.messageId, recipient: mail.to, reason: `${kind} ${at}` }),
  ],
})

scenario('What is heard of a message', start, (test) => {
  test('comes to the same in whatever order and how often it is heard', async (service) => {
    const random = randomFrom(SEED)
    const kinds: ReportKind[] = ['DELIVERED', 'BOUNCED', 'SOFT_BOUNCED', 'COMPLAINED', 'REJECTED']
    const began = service.clock.now().getTime() - 60_000
    for (let set = 0; set < 10; set += 1) {
      const drawn = Array.from(
        { length: 1 + Math.floor(random() * 6) },
        () => kinds[Math.floor(random() * kinds.length)] ?? 'DELIVERED',
      )
      // What a provider should not say, but may, is one of the sets.
      const told = (set === 0 ? (['REJECTED', 'DELIVERED'] as const) : drawn).map((kind, index) => ({
        id: String(index),
        kind,
        at: began + index * 1_000,
      }))
      const fates: unknown[] = []
      for (let order = 0; order < 4; order += 1) {
        const mail = await left(service, `order${set}.${order}@example.org`)
        const campaignId = await asCampaign(service, [mail], service.project)
        for (const one of shuffled([...told, ...told.filter(() => random() < 0.5)], random)) {
          await noteNotifications(service.ctx(), [notificationOf(mail, one)])
          if (random() < 0.5) await applied(service)
        }
        await applied(service)
        const { error: _, events, ...fate } = await fateOf(service, mail)
        const [times] = await service.sql(
          'select delivered_at, bounced_at, soft_bounced_at, complained_at, rejected_at from emails where id = $1',
          [mail.id],
        )
        fates.push({
          ...fate,
          times,
          events: events.toSorted(),
          tallies: await talliesOf(service, campaignId),
        })
      }
      const has = (kind: ReportKind) => (told.some((one) => one.kind === kind) ? 1 : 0)
      const [first, ...others] = fates
      for (const other of others) assert.equal(other, first, `${JSON.stringify(told)}, seed ${SEED}`)
      assert.equal((first as { tallies: unknown }).tallies, {
        ...{ delivered: has('DELIVERED'), bounced: has('BOUNCED'), complained: has('COMPLAINED') },
      })
    }
  })

  test('waits for the end of its hand-over', async (service) => {
    const mail = await left(service, 'early@example.org')
    await service.sql(
      `update emails set status = 'PENDING', sent_at = null, provider_message_id = null where id = $1`,
      [mail.id],
    )
    await service.sql(
      `insert into deliveries (project_id, email_id, priority, size, attempts, due_at, taken_by, taken_attempt)
       values ($1, $2, 0, 1, 1, now(), $3, 0)`,
      [service.project.id, mail.id, randomUUID()],
    )
    const now = service.clock.now().getTime()
    await noteNotifications(service.ctx(), [notificationOf(mail, { id: 'a', kind: 'DELIVERED', at: now })])
    // Another provider names it by an id that is not known yet.
    const byProvider = reportOf('COMPLAINED', new Date(now), {
      ...{
        sender: `a@${service.project.domain}`,
        recipient: mail.to,
        providerMessageId: mail.providerMessageId,
      },
    })
    await noteNotifications(service.ctx(), [{ source: 'ses', id: 'b', token: null, reports: [byProvider] }])
    await applied(service)
    assert.is((await fateOf(service, mail)).status, 'PENDING')
    await service.sql('delete from deliveries where email_id = $1', [mail.id])
    await service.sql(
      `update emails set status = 'SENT', sent_at = now(), provider_message_id = $2 where id = $1`,
      [mail.id, mail.providerMessageId],
    )
    service.clock.advance(2_000)
    await applied(service)
    assert.is((await fateOf(service, mail)).status, 'DELIVERED')
    service.clock.advance(60_000)
    await applied(service)
    assert.is((await fateOf(service, mail)).status, 'COMPLAINED')
  })

  test('ends further attempts', async (service) => {
    const mail = await left(service, 'uncertain@example.org')
    await service.sql(`update emails set status = 'FAILED', sent_at = null where id = $1`, [mail.id])
    await service.sql(
      `insert into deliveries (project_id, email_id, priority, size, attempts, due_at) values ($1, $2, 0, 1, 9, 'infinity')`,
      [service.project.id, mail.id],
    )
    await noteNotifications(service.ctx(), [
      notificationOf(mail, { id: 'a', kind: 'DELIVERED', at: Date.now() }),
    ])
    await applied(service)
    assert.is((await fateOf(service, mail)).status, 'DELIVERED')
    assert.equal(await service.sql('select email_id from deliveries where email_id = $1', [mail.id]), [])
  })

  test('ends further attempts when the provider refuses it after all', async (service) => {
    const mail = await left(service, 'refused@example.org')
    const { id: campaignId } = await newCampaign(service)
    await service.sql(
      `update emails set status = 'PENDING', sent_at = null, campaign_id = $2, source_type = 'CAMPAIGN' where id = $1`,
      [mail.id, campaignId],
    )
    await service.sql(
      `insert into campaign_recipients (project_id, campaign_id, contact_id, email_id, status)
       values ($1, $2, $3, $4, 'SENDING')`,
      [service.project.id, campaignId, mail.contactId, mail.id],
    )
    await service.sql(
      `insert into deliveries (project_id, email_id, campaign_id, priority, size, attempts, due_at, uncertain)
       values ($1, $2, $3, 2, 1, 1, now() + interval '1 hour', true)`,
      [service.project.id, mail.id, campaignId],
    )
    await noteNotifications(service.ctx(), [
      notificationOf(mail, { id: 'a', kind: 'REJECTED', at: Date.now() }),
    ])
    await applied(service)
    assert.is((await fateOf(service, mail)).status, 'FAILED')
    assert.equal(await service.sql('select email_id from deliveries where email_id = $1', [mail.id]), [])
    assert.equal(
      await service.sql('select status from campaign_recipients where campaign_id = $1', [campaignId]),
      [{ status: 'FAILED' }],
    )
  })

  test('of nobody here is kept for whoever runs the service', async (service) => {
    const unmatched = () =>
      service.sql(
        'select source, kind, project_id is null as foreign_, recipient from unmatched_reports order by id',
      )
    const unknown = (domain: string, id: string) =>
      noteNotifications(service.ctx(), [
        {
          ...notificationOf(
            { id: randomUUID(), messageId: `<${randomUUID()}@${domain}>`, to: 'who@example.org' },
            { id, kind: 'BOUNCED', at: Date.now() },
          ),
        },
      ])
    await unknown('nobody.example', 'x')
    const row = { source: 'test', kind: 'BOUNCED', recipient: 'who@example.org' }
    assert.equal(await unmatched(), [{ ...row, foreign_: true }])
    await unknown(service.project.domain, 'y')
    await applied(service)
    assert.is((await unmatched()).length, 1)
    service.clock.advance(11 * 60_000)
    await applied(service)
    assert.equal(await unmatched(), [
      { ...row, foreign_: true },
      { ...row, foreign_: false },
    ])
    assert.equal(await service.sql('select id from mail_reports'), [])
  })

  test('is applied once by workers side by side', async (service) => {
    const mails = await Promise.all(
      Array.from({ length: 40 }, (_, n) => left(service, `beside${n}@example.org`)),
    )
    const campaignId = await asCampaign(service, mails, service.project)
    const told = mails.flatMap((mail) =>
      (['DELIVERED', 'COMPLAINED', 'BOUNCED'] as const).map((kind) =>
        notificationOf(mail, { id: kind, kind, at: Date.now() }),
      ),
    )
    const random = randomFrom(SEED)
    // Many writers with the same notifications in other orders: each of them counts once.
    await Promise.all([1, 2, 3, 4].map(() => noteNotifications(service.ctx(), shuffled(told, random))))
    const { id } = service.project
    await Promise.all([1, 2, 3].map(() => applyReportsJob.slice(service.ctx(id), turnOf(id))))
    await applied(service)
    assert.equal(await talliesOf(service, campaignId), { delivered: 40, bounced: 40, complained: 40 })
  })
})

/** Messages to one address, the first one `days` ago, each turned away or delivered. */
async function softly(
  service: Service,
  to: string,
  days: number,
  kinds: ReportKind[],
): Promise<string | null> {
  const began = service.clock.now().getTime() - days * 24 * 3_600_000
  const step = (days * 24 * 3_600_000) / (kinds.length - 1)
  for (const [index, kind] of kinds.entries()) {
    const mail = await left(service, to)
    await noteNotifications(service.ctx(), [
      notificationOf(mail, { id: 'one', kind, at: began + index * step }),
    ])
    await applied(service)
  }
  const [row] = await service.sql('select reason from suppressions where email = $1', [to])
  return row?.reason ?? null
}

scenario('Messages that are turned away for now', start, (test) => {
  const S: ReportKind = 'SOFT_BOUNCED'
  test('suppress their address when there are five in a row over three days', async (service) => {
    assert.is(await softly(service, 'five@example.org', 3, [S, S, S, S, S]), 'SOFT_BOUNCES')
    assert.is(await softly(service, 'four@example.org', 7, [S, S, S, S]), null)
    assert.is(await softly(service, 'quick@example.org', 2.9, [S, S, S, S, S]), null)
    assert.is(await softly(service, 'reset@example.org', 7, [S, S, S, 'DELIVERED', S, S]), null)
    assert.is(await softly(service, 'after@example.org', 7, ['DELIVERED', S, S, S, S, S]), 'SOFT_BOUNCES')
    const [contact] = await service.sql("select subscribed from contacts where email = 'five@example.org'")
    assert.is(contact?.subscribed, true)
  })
})
