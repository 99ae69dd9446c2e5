import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { send, withoutTrace } from './send-support.ts'

const start = () => startService({ ROLES: 'http' })

/** Half of them known, half of them new, before anything is sent. */
const addresses = (kind: string) => Array.from({ length: 10 }, (_, index) => `${kind}${index}@example.org`)

/** What makes one of ten recipients, or something about them all, unacceptable. */
const REASONS: Record<string, (to: string[]) => { fields: object; status: number }> = {
  'one has no valid address': (to) => ({ fields: { to: [...to.slice(1), 'nobody'] }, status: 422 }),
  "one name is no header's text": (to) => ({
    fields: { to: [...to.slice(1), { email: to[0], name: 'a\r\nb' }] },
    status: 422,
  }),
  "one contact's data would pass 64 KB": (to) => ({
    fields: { to, data: { fresh: 'x'.repeat(40_000) } },
    status: 422,
  }),
  'the sender is not verified': (to) => ({ fields: { to, from: 'a@nobody.example' }, status: 403 }),
  'there is no such template': (to) => ({
    fields: { to, template: '00000000-0000-7000-8000-000000000000' },
    status: 404,
  }),
  'one mail becomes too large': (to) => ({
    fields: { to, body: '{{full}}'.repeat(1_100) },
    status: 413,
  }),
}

const state = ({ sql, project }: Service) =>
  sql('select * from contacts where project_id = $1 order by email', [project.id])

scenario('A send to ten is for all or for none', start, (test) => {
  for (const [index, [reason, request]] of Object.entries(REASONS).entries()) {
    test(`none when ${reason}`, async (service) => {
      const to = addresses(`ten${index}-`)
      await send(service, { to: to.slice(0, 4) })
      await send(service, { to: to[4], data: { full: 'x'.repeat(40_000), fresh: 1 } })
      const before = await state(service)
      const { fields, status } = request(to)
      const change = { subscribed: true, data: { changed: true } }
      const answer = await withoutTrace(service, () => send(service, { ...change, ...fields }))
      assert.is(answer.status, status, answer.text)
      assert.equal(await state(service), before)
    })
  }
})
