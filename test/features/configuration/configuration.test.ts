import * as assert from 'uvu/assert'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'

const QUERY = `{ config {
  environment urls { api dashboard }
  features {
    billing { enabled } storage { enabled kind } authProviders { github google }
    signup { disabled } smtp { enabled domain ports }
  }
} }`

const FEATURES = {
  billing: { enabled: false },
  storage: { enabled: true, kind: 'local' },
  authProviders: { github: false, google: false },
  signup: { disabled: false },
  smtp: { enabled: false, domain: null, ports: [] },
}

const SECRETS = {
  JWT_SECRET: '3f1c9b7ad2e84650b1c7f09e6a5d8234',
  ENCRYPTION_SECRET: '93f7a5d1c2b84e60a1b2c3d4e5f60718',
  METRICS_TOKEN: 'd81b0c77e2f94a36',
  SMTP_URL: 'smtp://user:hunter2@127.0.0.1:9',
  S3_BUCKET: 'private-bucket',
  S3_ACCESS_KEY_ID: 'AKIAEXAMPLE',
  S3_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI',
}

const SET_UP = {
  ...SECRETS,
  ROLES: 'http',
  NODE_ENV: 'production',
  HOST: '127.0.0.1',
  API_URL: 'https://mail.example/',
  DASHBOARD_URL: 'https://dash.example',
  S3_REGION: 'eu-central-1',
}

scenario(
  'GET /config',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('tells anyone how the service is set up, and nothing else', async ({ call, url }) => {
      const { status, body } = await call('GET', '/config')
      assert.is(status, 200)
      assert.equal(body, { environment: 'test', urls: { api: url, dashboard: null }, features: FEATURES })
    })

    test('is the query "config" in GraphQL', async ({ call, graphql }) => {
      const [rest, { body }] = [await call('GET', '/config'), await graphql(QUERY)]
      assert.equal(body, { data: { config: rest.body } })
    })

    test('asks for no key, and does not mind one that is out of date', async ({ as, project }) => {
      for (const key of [project.secret, project.public, `sk_${'0'.repeat(64)}`]) {
        assert.is((await as(key).get('/config')).status, 200)
      }
    })

    test('reads and nothing else', async ({ as, project }) => {
      assertRefused(await as(project).post('/config'), 405, 'METHOD_NOT_ALLOWED')
    })
  },
)

scenario(
  'GET /config of another set-up',
  () => startService(SET_UP),
  (test) => {
    test('has the addresses that were given, and none of the secrets', async ({ call }) => {
      const { body, text } = await call('GET', '/config')
      assert.is(body.environment, 'production')
      assert.equal(body.urls, { api: 'https://mail.example', dashboard: 'https://dash.example' })
      assert.equal(body.features.storage, { enabled: true, kind: 's3' })
      for (const secret of Object.values(SECRETS)) assert.not.ok(text.includes(secret))
    })
  },
)
