import { renameSync, rmSync, writeFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { MINUTE } from '../support/clock.ts'
import { attempted, pass, sendMail } from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { type Body, type Service, startService } from '../support/service.ts'

function mailboxOf({ app }: Service): string {
  const { mail } = app.config
  if (mail.provider !== 'mailbox') throw new Error('not the mailbox')
  return mail.directory
}

async function messagesTo({ call }: Service, to: string): Promise<Body[]> {
  const answer = await call('GET', `/mailbox/messages?to=${to}`)
  assert.is(answer.status, 200, answer.text)
  return answer.body.data
}

scenario('A mailbox that cannot be written', startService, (test) => {
  test('costs an attempt, and no mail', async (service) => {
    const directory = mailboxOf(service)
    const early = await sendMail(service, 'early@receiver.example')
    assert.is((await attempted(service, early, 1)).status, 'SENT')

    renameSync(directory, `${directory}-away`)
    writeFileSync(directory, 'a file where the folder should be')
    const ids = await Promise.all(['one', 'two'].map((name) => sendMail(service, `${name}@receiver.example`)))
    for (const id of ids) {
      const row = await attempted(service, id, 1)
      assert.is(row.status, 'PENDING')
      assert.match(row.error, /^Mailbox: .*(ENOTDIR|EEXIST)/)
    }
    pass(service, 2 * MINUTE)
    for (const id of ids) assert.is((await attempted(service, id, 2)).status, 'PENDING')

    rmSync(directory)
    renameSync(`${directory}-away`, directory)
    pass(service, 7 * MINUTE)
    for (const id of ids) assert.is((await attempted(service, id, 3)).status, 'SENT')
    for (const name of ['early', 'one', 'two']) {
      assert.is((await messagesTo(service, `${name}@receiver.example`)).length, 1, name)
    }
  })
})
