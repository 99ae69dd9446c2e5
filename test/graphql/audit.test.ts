import { serverAudits } from 'graphql-http'
import * as assert from 'uvu/assert'
import { scenario } from '../support/scenario.ts'
import { type Service, startService } from '../support/service.ts'

const REQUIRED = /^(MUST|SHOULD) /

scenario('The audit of GraphQL over HTTP', startService, (test) => {
  const audits = ({ url }: Pick<Service, 'url'>) => serverAudits({ url: `${url}/graphql` })

  test('has requirements', () => {
    const names = audits({ url: 'http://127.0.0.1:1' }).map(({ name }) => name)
    assert.ok(names.filter((name) => REQUIRED.test(name)).length >= 36, `${names.length}`)
  })

  for (const { id, name } of audits({ url: 'http://127.0.0.1:1' })) {
    if (!REQUIRED.test(name)) continue
    test(`${id} ${name}`, async (service) => {
      const audit = audits(service).find((one) => one.id === id)
      const result = await audit?.fn()
      const reason = result && 'reason' in result ? result.reason : undefined
      assert.is(result?.status, 'ok', reason)
    })
  }
})
