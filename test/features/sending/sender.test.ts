import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { fieldErrors, send, sent, templateOf, withoutTrace } from './send-support.ts'

const start = () => startService({ ROLES: 'http' })

/** DOMAIN stands for the project's verified domain. */
const FORMS: [what: string, fields: { from: unknown; name?: unknown }, name: string | null][] = [
  ['an address', { from: 'hello@DOMAIN' }, null],
  ['name and address', { from: 'Team <hello@DOMAIN>' }, 'Team'],
  ['a quoted name', { from: '"Doe, \\"J\\"" <hello@DOMAIN>' }, 'Doe, "J"'],
  ['an object', { from: { email: 'HELLO@DOMAIN', name: 'Team 🎉' } }, 'Team 🎉'],
  ['an object without a name', { from: { email: 'hello@DOMAIN' } }, null],
  ['an address, with the deprecated name', { from: 'hello@DOMAIN', name: 'Old' }, 'Old'],
  ['an address in brackets, with the deprecated name', { from: '<hello@DOMAIN>', name: 'Old' }, 'Old'],
  [
    'name and address, which win over the deprecated name',
    { from: 'Team <hello@DOMAIN>', name: 'Old' },
    'Team',
  ],
  [
    'an object, for which the deprecated name does not count',
    { from: { email: 'hello@DOMAIN' }, name: 'Old' },
    null,
  ],
]

const BAD: [what: string, fields: object, errors: [string, string][]][] = [
  ['a list', { from: ['hello@example.org'] }, [['from', 'invalid_type']]],
  ['a number', { from: 1 }, [['from', 'invalid_type']]],
  ['no address', { from: 'hello' }, [['from', 'invalid_string']]],
  ['two addresses', { from: 'A <a@example.org>, B <b@example.org>' }, [['from', 'invalid_string']]],
  ['an object without an address', { from: { name: 'Team' } }, [['from.email', 'required']]],
  [
    'a name with a line break',
    { from: { email: 'a@b.co', name: 'A\nB' } },
    [['from.name', 'invalid_string']],
  ],
  ['a deprecated name with a line break', { name: 'A\r\nB' }, [['name', 'invalid_string']]],
  ['a deprecated name that is no text', { name: {} }, [['name', 'invalid_type']]],
]

scenario('The sender', start, (test) => {
  for (const [what, fields, name] of FORMS) {
    test(`may be ${what}`, async (service) => {
      const { domain } = service.project
      const { email } = await sent(service, JSON.parse(JSON.stringify(fields).replaceAll('DOMAIN', domain)))
      assert.equal([email.from, email.from_name], [`hello@${domain}`, name])
    })
  }

  for (const [what, fields, errors] of BAD) {
    test(`may not be ${what}`, async (service) => {
      const answer = await withoutTrace(service, () => send(service, { ...fields }))
      assert.equal(fieldErrors(answer), errors)
    })
  }

  test('of the request wins over the one of the template, name included', async (service) => {
    const template = await templateOf(service, { fromName: 'Template' })
    const from = `request@${service.project.domain}`
    const { email } = await sent(service, { template, from })
    assert.equal([email.from, email.from_name], [from, null])
  })

  test('of the template does not take the deprecated name', async (service) => {
    const template = await templateOf(service, { fromName: 'Template' })
    const { email } = await sent(service, { template, from: undefined, name: 'Old' })
    assert.equal([email.from, email.from_name], [`template@${service.project.domain}`, 'Template'])
  })

  test('may have an international domain in either form', async (service) => {
    const { project, as } = service
    const domain = `ü-${project.domain}`
    const added = await as(project).post('/domains', { domain })
    assert.is(added.status, 201)
    for (const from of [`hello@${domain}`, `hello@${added.body.domain}`, `hello@${domain.toUpperCase()}`]) {
      assert.is((await sent(service, { from })).email.from, `hello@${added.body.domain}`)
    }
  })
})
