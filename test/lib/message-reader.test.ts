import * as assert from 'uvu/assert'
import { MessageReader } from '../../src/lib/mime/message-reader.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

const KILOBYTE = 1024

const letter = (subject: string, bytes: number): Buffer =>
  Buffer.from(`From: a@example.org\r\nSubject: ${subject}\r\n\r\n${'some words\r\n'.repeat(bytes / 12)}`)

scenario('The thread that reads messages', nothingShared, (test) => {
  test('breaks at one message alone, and reads those that come meanwhile', async () => {
    const reader = new MessageReader({ maxOldGenerationSizeMb: 24 })
    let isBroken = false
    const broken = reader
      .read(letter('large', 24 * KILOBYTE * KILOBYTE))
      .then(
        () => 'read',
        ({ code }) => code,
      )
      .finally(() => {
        isBroken = true
      })
    const subjects: string[] = []
    const readMore = async () => {
      do subjects.push((await reader.read(letter('small', 100 * KILOBYTE))).message.subject)
      while (!isBroken)
    }
    await Promise.all([readMore(), readMore(), readMore()])
    assert.is(await broken, 'ERR_WORKER_OUT_OF_MEMORY')
    assert.equal([...new Set(subjects)], ['small'])
    await reader.stop()
  })
})
