import { Secret, TOTP } from 'otpauth'
import * as assert from 'uvu/assert'
import { member, PASSWORD, signedUp } from '../../support/browser-session.ts'
import { dump, rowsWith } from '../../support/dump.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Service, startService, until } from '../../support/service.ts'

const CREATE_KEY =
  'mutation ($id: ID!, $input: CreateApiKeyInput!) { createApiKey(projectId: $id, input: $input) { key } }'
const ROTATE_KEY =
  'mutation ($id: ID!, $key: ID!) { rotateApiKey(projectId: $id, id: $key, input: { overlapHours: 1 }) { key } }'
const CREATE_ENDPOINT =
  'mutation ($input: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $input) { secret } }'
const BEGIN = 'mutation ($input: BeginSecondFactorInput!) { beginSecondFactor(input: $input) { secret } }'
const CONFIRM = 'mutation ($input: ConfirmSecondFactorInput!) { confirmSecondFactor(input: $input) }'

/** The tokens in the mails of the service to an address, once there are so many. */
async function tokensMailedTo(service: Service, email: string, count: number): Promise<string[]> {
  const mails: Body[] = await until(`${count} mails`, async () => {
    const { body } = await service.call('GET', `/mailbox/messages?to=${encodeURIComponent(email)}`)
    return body.data.length >= count && body.data
  })
  const texts = await Promise.all(mails.map(({ id }) => service.call('GET', `/mailbox/messages/${id}/html`)))
  return texts.map(({ text }) => /\?token=([\w-]+)/.exec(text)?.[1] ?? '')
}

async function secondFactorOf(
  service: Service,
  person: Awaited<ReturnType<typeof signedUp>>,
): Promise<string[]> {
  const begun = await person.graphql(BEGIN, { input: { password: PASSWORD } })
  const { secret } = begun.body.data.beginSecondFactor
  const totp = new TOTP({ secret: Secret.fromBase32(secret) })
  const code = totp.generate({ timestamp: service.clock.now().getTime() })
  const confirmed = await person.graphql(CONFIRM, { input: { code } })
  return [secret, ...confirmed.body.data.confirmSecondFactor]
}

scenario('Secrets at rest', startService, (test) => {
  test('none is in the clear anywhere in the database, queues and remembered answers included', async (service) => {
    const { as, project } = service
    const owner = await member(service, 'OWNER')
    const made = await owner.graphql(CREATE_KEY, { id: project.id, input: { name: 'ci', scope: 'READ' } })
    const created = await owner.graphql(`query ($id: ID!) { apiKeys(projectId: $id) { id } }`, {
      id: project.id,
    })
    const rotated = await owner.graphql(ROTATE_KEY, { id: project.id, key: created.body.data.apiKeys[0].id })
    const endpoint = { url: 'https://receiver.example/hook', eventNames: ['email.*'] }
    const hook = await as().graphql(CREATE_ENDPOINT, { input: endpoint })
    const newcomer = await signedUp(service, { verified: false })
    assert.is(
      (await newcomer.call('POST', '/auth/request-password-reset', { email: newcomer.email })).status,
      200,
    )
    const factor = await secondFactorOf(service, owner)
    const regenerated = await owner.call('POST', `/users/@me/projects/${project.id}/regenerate-keys`)
    const secrets = {
      password: PASSWORD,
      'key of the project before': project.secret,
      'key of the project': regenerated.body.secret,
      'further key': made.body.data.createApiKey.key,
      'further key that replaced it': rotated.body.data.rotateApiKey.key,
      'webhook secret': hook.body.data.createWebhookEndpoint.secret.replace('whsec_', ''),
      session: owner.cookie.replace('token=', ''),
      'private key': 'PRIVATE KEY',
      ...Object.fromEntries((await tokensMailedTo(service, newcomer.email, 2)).entries()),
      ...Object.fromEntries(factor.map((text, index) => [`second factor ${index}`, text])),
    }
    const rows = await dump(service)
    for (const [name, secret] of Object.entries(secrets)) {
      assert.ok(String(secret).length > 8, `${name} is known to the test`)
      assert.equal(rowsWith(rows, [String(secret)]), [], name)
    }
  })
})
