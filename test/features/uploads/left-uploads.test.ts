import * as assert from 'uvu/assert'
import { purgeExpiredJob } from '../../../src/features/operations/purge-expired.job.ts'
import { HOUR } from '../../support/clock.ts'
import { hold } from '../../support/held-lock.ts'
import { IMAGES } from '../../support/images.ts'
import { openRaw } from '../../support/raw-http.ts'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { rowsOf, storedFiles, uploaded } from './upload-support.ts'

const MEGABYTE = 1024 * 1024
const DAY = 24 * HOUR

scenario(
  'An upload whose client leaves',
  () => startService({ ROLES: 'http' }, { alone: true }),
  (test) => {
    test('stores nothing, and leaves its room to others', async (service) => {
      const { url, project } = service
      const head = [
        'POST /uploads/image HTTP/1.1',
        'Host: x',
        `Authorization: Bearer ${project.secret}`,
        'Content-Type: multipart/form-data; boundary=x',
        `Content-Length: ${8 * MEGABYTE}`,
      ]
      const part = '--x\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n\r\n'
      // More than there is room for at a time.
      for (let count = 0; count < 8; count += 1) {
        const connection = openRaw(url)
        connection.write(`${head.join('\r\n')}\r\n\r\n${part}`)
        connection.write(Buffer.concat([IMAGES.png, Buffer.alloc(MEGABYTE)]))
        await new Promise<void>((resolve) => connection.socket.write('x', () => resolve()))
        connection.socket.resetAndDestroy()
      }
      const { key } = await uploaded(service, Buffer.concat([IMAGES.png, Buffer.alloc(8 * MEGABYTE)]))
      assert.equal(storedFiles(service), [key])
      assert.is((await rowsOf(service)).length, 1)
    })
  },
)

const keepingForADay = () => startService({ ROLES: 'http', UPLOAD_RETENTION_DAYS: '1' })

scenario('The purge of old images', keepingForADay, (test) => {
  test('goes on when one of them is deleted at the same moment', async (service) => {
    const { as, clock, databaseUrl, project } = service
    const first = await uploaded(service, IMAGES.png)
    const second = await uploaded(service, IMAGES.gif)
    await uploaded(service, IMAGES.jpeg)
    clock.advance(2 * DAY)
    const kept = await uploaded(service, IMAGES.png)
    const lock = await hold(databaseUrl, 'select from uploads where key = $1 for update', [first.key])
    const purge = purgeExpiredJob.run(service.ctx(), {})
    await lock.waiters(1)
    assert.is((await as(project).delete(`/uploads/image/${second.key}`)).status, 204)
    await lock.release()
    await purge
    assert.equal(storedFiles(service), [kept.key])
    assert.equal(
      (await rowsOf(service)).map(({ key }) => key),
      [kept.key],
    )
  })
})
