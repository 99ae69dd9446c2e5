import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { jobIdOf, postBulk, postImport } from './job-support.ts'

const start = () => startService({ ROLES: 'http' })

scenario('Imports and bulk changes that have not ended', start, (test) => {
  test('are at most 50 in a project', async (service) => {
    const [project, other] = [await service.newProject(), await service.newProject()]
    const ask = (by = project) => postBulk(service, 'bulk-delete', { contactIds: [randomUUID()] }, by)
    const ids = []
    for (let n = 0; n < 50; n += 1) ids.push(jobIdOf(await ask()))
    for (const answer of [await ask(), await postImport(service, 'email\na@example.org', project)]) {
      assertRefused(answer, 429, 'RATE_LIMIT_EXCEEDED')
      assert.is(answer.headers.get('retry-after'), '10')
    }
    jobIdOf(await ask(other))
    const cancel = 'mutation ($id: ID!) { cancelContactJob(jobId: $id) { state } }'
    await service.as(project).graphql(cancel, { id: ids[0] })
    jobIdOf(await ask())
    assertRefused(await ask(), 429, 'RATE_LIMIT_EXCEEDED')
  })
})
