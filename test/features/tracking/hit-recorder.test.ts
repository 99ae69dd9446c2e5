import * as assert from 'uvu/assert'
import { HitRecorder } from '../../../src/features/tracking/hit-recorder.ts'
import { newId } from '../../../src/lib/ids.ts'
import { createMetrics } from '../../../src/observe/metrics.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'

/** A recorder, and how many statements it has run so far. */
function counted({ app: { services } }: Service) {
  const { database } = services
  const statements: string[] = []
  const sql: typeof database.sql = (query, params) => {
    statements.push(query.text)
    return database.sql(query, params)
  }
  const recorder = new HitRecorder({ ...services, database: { ...database, sql } }, createMetrics())
  return { recorder, statements }
}

scenario(
  'Opens and clicks',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('cost one insert, and many at once share some', async (service) => {
      const { recorder, statements } = counted(service)
      const mailOf = () => ({ projectId: service.project.id, emailId: newId(new Date()), links: 1 })
      await recorder.record(mailOf(), null, false)
      assert.is(statements.length, 1)
      assert.match(statements[0] ?? '', 'insert into tracking_hits')
      const hits = Array.from({ length: 300 }, () => recorder.record(mailOf(), 'https://a.example/', false))
      await Promise.all(hits)
      const [row] = await service.sql('select count(*)::int as count from tracking_hits')
      assert.is(row?.count, 301)
      assert.ok(statements.length <= 10, `${statements.length} statements`)
    })
  },
)
