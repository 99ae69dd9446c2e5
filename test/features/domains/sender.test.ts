import * as assert from 'uvu/assert'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { send, sent, templateOf, withoutTrace } from '../sending/send-support.ts'

const start = () => startService({ ROLES: 'http' })

/** Sends from a domain that must not work. */
async function refused(service: Service, from: string, domain: string) {
  const answer = await withoutTrace(service, () => send(service, { from }))
  assertRefused(answer, 403, 'INTERNAL_SERVER_ERROR')
  assert.equal(answer.body.error.details, { reason: 'domain_not_verified', domain })
  assert.match(answer.body.error.suggestion, domain)
}

const setStatus = ({ sql, project }: Service, status: string) =>
  sql('update domains set status = $2::domain_status where project_id = $1', [project.id, status])

scenario("The sender's domain", start, (test) => {
  test('must be verified: one that nobody has added is refused', (service) =>
    refused(service, 'hello@nobody.example', 'nobody.example'))

  for (const status of ['PENDING', 'FAILED']) {
    test(`must be verified: one that is ${status} is refused`, async (service) => {
      await setStatus(service, status)
      try {
        await refused(service, `hello@${service.project.domain}`, service.project.domain)
      } finally {
        await setStatus(service, 'VERIFIED')
      }
    })
  }

  test('does not cover its subdomains', async (service) => {
    const subdomain = `mail.${service.project.domain}`
    await refused(service, `hello@${subdomain}`, subdomain)
  })

  test('is not covered by a subdomain', async (service) => {
    const { as, project } = service
    const domain = 'parent.example'
    await as(project).post('/domains', { domain: `mail.${domain}` })
    await refused(service, `hello@${domain}`, domain)
  })

  test('must be of this project', async (service) => {
    const other = await service.newProject()
    await refused(service, `hello@${other.domain}`, other.domain)
  })

  test('is compared without case', async (service) => {
    const { domain } = service.project
    assert.is((await sent(service, { from: `hello@${domain.toUpperCase()}` })).email.from, `hello@${domain}`)
  })

  test('of a template counts when the request names no sender', async (service) => {
    const template = await templateOf(service)
    await setStatus(service, 'PENDING')
    try {
      const fields = { template, from: undefined }
      const answer = await withoutTrace(service, () => send(service, fields))
      assertRefused(answer, 403, 'INTERNAL_SERVER_ERROR')
      assert.is(answer.body.error.details.domain, service.project.domain)
    } finally {
      await setStatus(service, 'VERIFIED')
    }
  })

  test('of a template does not count when the request names another sender', async (service) => {
    const template = await templateOf(service)
    const answer = await withoutTrace(service, () => send(service, { template, from: 'a@nobody.example' }))
    assert.is(answer.body.error.details.domain, 'nobody.example')
  })
})
