import * as assert from 'uvu/assert'
import {
  attempted,
  deliveryRow,
  emailEvents,
  type SendingService,
  sendBody,
  sendMail,
  startSending,
} from '../support/mailing.ts'
import { assertRefused } from '../support/refusals.ts'
import { scenario } from '../support/scenario.ts'
import { until } from '../support/service.ts'
import { administer } from '../support/test-server.ts'

/** As a standby after a fail-over, or a hosted database whose disk is full; connections have to be made anew. */
async function setReadOnly({ databaseUrl }: SendingService, readOnly: boolean): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1)
  await administer(databaseUrl, `alter database ${name} set default_transaction_read_only = ${readOnly}`)
  await administer(
    databaseUrl,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = '${name}' and application_name like 'mailwright%'`,
  )
}

scenario('A database that takes no writes for a while', startSending, (test) => {
  test('is told as 503, and what was handed over meanwhile is settled afterwards, once', async (context) => {
    const { sink, as, project } = context
    const goOn = sink.hold()
    const id = await sendMail(context, 'flying@receiver.example')
    await until('the hand-over', () => sink.counts().has('flying@receiver.example'))
    await setReadOnly(context, true)
    goOn()
    await until('the hand-over is done', () => sink.underWay.size === 0)
    const message = sendBody(project)
    for (const [path, key, body] of [
      ['/v1/send', project.secret, message],
      ['/v1/track', project.public, { email: 'a@b.example', event: 'seen' }],
      ['/templates', project.secret, { ...message, name: 'x' }],
    ] as const) {
      // More than once: the first may only find that its connection was ended.
      for (let round = 1; round <= 3; round += 1) {
        assertRefused(await as(key).post(path, body), 503, 'SERVICE_UNAVAILABLE')
      }
    }
    assert.ok((await deliveryRow(context, id)).taken_by, 'is still held')
    await setReadOnly(context, false)
    const row = await attempted(context, id, 1)
    assert.is(row.status, 'SENT')
    assert.is(sink.counts().get('flying@receiver.example'), 1)
    assert.is((await emailEvents(context, id)).length, 1)
    await until('a message is accepted', async () => {
      const answer = await as(project).post('/v1/send', message)
      return answer.status === 200
    })
  })
})
