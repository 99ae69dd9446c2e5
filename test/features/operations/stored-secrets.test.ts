import * as assert from 'uvu/assert'
import { startApp } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config.ts'
import {
  isLinkOf,
  readLink,
  subscriptionLinks,
} from '../../../src/features/subscriptions/subscription-links.ts'
import { newId } from '../../../src/lib/ids.ts'
import { createLog } from '../../../src/observe/log.ts'
import { commands } from '../../bin/cli-process.ts'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'

const [FIRST, SECOND, THIRD] = ['first', 'second', 'third'].map((name) => name.repeat(8)) as [
  string,
  string,
  string,
]

scenario(
  'Stored secrets',
  () => startService({ ROLES: 'http', ENCRYPTION_SECRET: FIRST }),
  (test) => {
    test('are sealed anew when ENCRYPTION_SECRET is replaced', async (service) => {
      const { as, sql, app } = service
      const endpoint = { url: 'https://receiver.example/hook', eventNames: ['email.*'] }
      assert.is((await as().graphql(CREATE, { input: endpoint })).status, 200)
      const { body } = await as().post('/domains', { domain: 'sealed.example' })
      await as().graphql(`mutation { rotateDkimKey(domainId: "${body.id}") { id } }`)
      const [{ count } = { count: 0 }] = await sql<{ count: number }>(COUNT)
      assert.ok(count >= 4)

      const { databaseUrl, dataDir } = app.config
      const env = (secret: string, previous = '') => ({
        ...{ NODE_ENV: 'test', DATABASE_URL: databaseUrl ?? '', DATA_DIR: dataDir, ROLES: 'http', PORT: '0' },
        ...{ ENCRYPTION_SECRET: secret, ENCRYPTION_SECRET_PREVIOUS: previous, API_URL: app.config.apiUrl },
      })
      const startWith = async (variables: Record<string, string>) => {
        try {
          const other = await startApp(loadConfig(variables), createLog('silent'))
          await other.stop()
          return 'started'
        } catch (error) {
          return String(error)
        }
      }
      const refused = await startWith(env(SECOND))
      assert.match(
        refused,
        /ENCRYPTION_SECRET does not open \d+ DKIM keys, 1 new DKIM keys, 1 webhook secrets/,
      )
      assert.match(refused, 'ENCRYPTION_SECRET_PREVIOUS')
      assert.is(await startWith(env(SECOND, FIRST)), 'started')
      assert.is(await startWith(env(SECOND, `${THIRD},${FIRST}`)), 'started')

      // Links that were sent go on working; new ones are signed with the new secret.
      const owner = {
        projectId: service.project.id,
        contactId: newId(new Date()),
        emailId: newId(new Date()),
      }
      const address = { email: 'ann@receiver.example', sentTo: null }
      const linkBy = (variables: Record<string, string>) => {
        const { manageUrl } = subscriptionLinks(loadConfig(variables), { ...owner, email: address.email })
        const link = readLink(manageUrl.split('/').at(-1) ?? '')
        if (!link) throw new Error(`${manageUrl} is no link`)
        return link
      }
      const both = loadConfig(env(SECOND, FIRST))
      assert.ok(isLinkOf(both, linkBy(env(FIRST)), address))
      assert.ok(isLinkOf(both, linkBy(env(SECOND)), address))
      assert.not.ok(isLinkOf(loadConfig(env(SECOND)), linkBy(env(FIRST)), address))
      assert.not.ok(isLinkOf(loadConfig(env(FIRST)), linkBy(env(SECOND, FIRST)), address))

      const cli = commands(env(SECOND, FIRST))
      assert.match(await commands(env(SECOND)).refusal(['secrets', 'rotate']), 'does not open')
      assert.equal(await cli.json(['secrets', 'rotate']), { resealed: count, current: 0 })
      assert.equal(await cli.json(['secrets', 'rotate']), { resealed: 0, current: count })
      assert.is(await startWith(env(SECOND)), 'started')
      assert.match(await startWith(env(FIRST)), 'does not open')
    })
  },
)

const CREATE =
  'mutation ($input: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $input) { endpoint { id } } }'
const COUNT = `select ((select count(dkim_private_key) + count(dkim_next_private_key) from domains)
  + (select count(*) from webhook_secrets))::int as count`
