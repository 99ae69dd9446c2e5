import { dkimVerify } from 'mailauth'
import * as assert from 'uvu/assert'
import { HOUR } from '../../support/clock.ts'
import { type DnsServer, startDnsServer } from '../../support/dns-server.ts'
import { startMailSink } from '../../support/mail-sink.ts'
import { type SendingService, sendMail } from '../../support/mailing.ts'
import { assertGraphQLRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, startService, until } from '../../support/service.ts'
import { add, published, recordOf, verify } from './domain-support.ts'

type Context = SendingService & { dns: DnsServer }

async function start(): Promise<Context> {
  const [dns, sink] = [await startDnsServer(), await startMailSink()]
  const service = await startService({ SMTP_URL: sink.url, DNS_SERVERS: dns.address })
  const stop = async () => {
    await service.stop()
    await sink.stop()
    await dns.stop()
  }
  return { ...service, sink, dns, stop }
}

const ROTATE = `mutation ($domainId: ID!) {
  rotateDkimKey(domainId: $domainId) { id status records { type name value required purpose status message } }
}`

scenario('The DKIM key of a domain', start, (test) => {
  test('is replaced without a message that does not verify', async (context) => {
    const { dns, sink, as, clock, sql } = context
    const added = await add(context)
    const { domain, id } = added
    const rotate = () => as().graphql(ROTATE, { domainId: id })
    const keysOf = (records: Body[]) => records.filter(({ purpose }) => purpose === 'DKIM')
    const placesOf = (records: Body[]) =>
      keysOf(records).map(({ name, required, status }) => [name.split('.')[0], required, status])
    /** The selector of a message that is sent now, and whether a receiver who looks into these records believes it. */
    const sent = async (to: string, records: Body[]) => {
      await sendMail(context, to, {}, { ...context.project, domain })
      const raw = await until('it arrives', () => sink.arrivals.find((arrival) => arrival.to === to)?.raw)
      return believed(raw, records)
    }
    const believed = async (raw: Buffer, records: Body[]) => {
      const resolver = async (name: string) =>
        records.filter((record) => record.name === name).map(({ value }) => [value])
      const { results } = await dkimVerify(raw, { resolver })
      return results.map(({ selector, status }) => [selector, status.result])
    }

    await dns.serve(published(added.records))
    assert.is((await verify(context, id)).status, 'VERIFIED')
    assert.equal(await sent('before@receiver.example', added.records), [['mailwright', 'pass']])

    // The new key is there, and does not sign before its record is found.
    const rotated = (await rotate()).body.data.rotateDkimKey
    assert.equal(placesOf(rotated.records).toSorted(), [
      ['mailwright', true, 'VERIFIED'],
      ['mailwright2', false, 'PENDING'],
    ])
    assertGraphQLRefused(await rotate(), 409, 'CONFLICT')
    const waiting = await verify(context, id)
    assert.is(waiting.status, 'VERIFIED')
    const [, second] = keysOf(waiting.records)
    assert.equal([second.name, second.status], [`mailwright2._domainkey.${domain}`, 'PENDING'])
    assert.match(second.message, /signs once this record is found/)
    assert.equal(await sent('during@receiver.example', added.records), [['mailwright', 'pass']])

    // Its record is found: it signs, and the old record has to stay.
    await dns.serve(published(rotated.records))
    const changed = await verify(context, id)
    assert.equal(placesOf(changed.records).toSorted(), [
      ['mailwright', false, 'VERIFIED'],
      ['mailwright2', true, 'VERIFIED'],
    ])
    const [old] = keysOf(changed.records)
    assert.match(old.message, /^Leave it until \d{4}-/)
    assert.equal(await sent('after@receiver.example', changed.records), [['mailwright2', 'pass']])
    const inFlight = sink.arrivals.find(({ to }) => to === 'before@receiver.example')?.raw ?? Buffer.alloc(0)
    assert.equal(await believed(inFlight, changed.records), [['mailwright', 'pass']])
    assertGraphQLRefused(await rotate(), 409, 'CONFLICT')

    // After 7 days nothing that it has signed is under way.
    clock.advance(6 * 24 * HOUR)
    assert.is(keysOf((await verify(context, id)).records).length, 2)
    clock.advance(25 * HOUR)
    const alone = await verify(context, id)
    assert.equal(placesOf(alone.records), [['mailwright2', true, 'VERIFIED']])
    await dns.serve(published(alone.records))
    assert.is((await verify(context, id)).status, 'VERIFIED')
    assert.equal(await sent('later@receiver.example', alone.records), [['mailwright2', 'pass']])

    // The other way round the first name comes back, with another key.
    const again = (await rotate()).body.data.rotateDkimKey
    const third = again.records.find(({ name }: Body) => name === `mailwright._domainkey.${domain}`)
    assert.is.not(third.value, recordOf(added, 'DKIM').value)
    await dns.serve(published(again.records))
    const back = await verify(context, id)
    assert.equal(await sent('back@receiver.example', back.records), [['mailwright', 'pass']])

    const [row] = await sql('select dkim_private_key, dkim_next_private_key from domains where id = $1', [id])
    assert.is(row?.dkim_next_private_key, null)
    assert.not.match(row?.dkim_private_key.toString('latin1'), 'PRIVATE KEY')
  })

  test('is not replaced for another project, nor twice at the same time', async (context) => {
    const { as, newProject } = context
    const { id } = await add(context)
    const other = await newProject()
    const answer = await as(other).graphql(ROTATE, { domainId: id })
    assertGraphQLRefused(answer, 404, 'DOMAIN_NOT_FOUND')
    const answers = await Promise.all([1, 2, 3].map(() => as().graphql(ROTATE, { domainId: id })))
    const values = answers.flatMap(({ body }) =>
      (body.data?.rotateDkimKey?.records ?? []).map(({ value }: Body) => value),
    )
    const stored = (await as().get(`/domains/project/${context.project.id}`)).body.find(
      (one: Body) => one.id === id,
    )
    for (const value of values) assert.ok(stored.records.some((record: Body) => record.value === value))
    assert.is(answers.filter(({ body }) => body.data?.rotateDkimKey).length, 1)
    const noted = await context.sql(
      `select from audit_entries where action = 'domain.rotateKey' and target = $1`,
      [stored.domain],
    )
    assert.is(noted.length, 1, 'a replacement that did not begin is not on record')
  })
})
