import { spawn } from 'node:child_process'
import { Resolver } from 'node:dns/promises'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import * as assert from 'uvu/assert'
import { loadConfig } from '../src/config.ts'
import { ConfigurationError } from '../src/environment.ts'
import { scenario } from './support/scenario.ts'

const SECRET = '3f1c9b7ad2e84650b1c7f09e6a5d8234'

const PRODUCTION = {
  NODE_ENV: 'production',
  JWT_SECRET: SECRET,
  DATABASE_URL: 'postgres://mail:pw@db.example/mail',
  API_URL: 'https://mail.example',
  SMTP_URL: 'smtps://user:pw@smtp.example:465',
}

const S3 = {
  S3_BUCKET: 'images',
  S3_REGION: 'eu-central-1',
  S3_ACCESS_KEY_ID: 'AKIAEXAMPLE',
  S3_SECRET_ACCESS_KEY: 'secret-value',
}

/** A directory of its own, because development keeps a secret in DATA_DIR. */
function startDirectory() {
  const directory = mkdtempSync(path.join(tmpdir(), 'mailwright-config-'))
  return {
    directory,
    load: (env: Record<string, string>) => loadConfig({ DATA_DIR: directory, ...env }),
    stop: () => rmSync(directory, { recursive: true, force: true }),
  }
}

/** What a refused configuration says, a line per variable. */
function problemsOf(load: () => unknown): string[] {
  try {
    load()
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message.split('\n')
    throw error
  }
  throw new Error('the configuration was taken')
}

const PLACES = 20

/** Says when it is ready, and starts in one folder after the other at the times that it is then told to. */
const STARTER = `
  const [config, directory, places] = process.argv.slice(1)
  const { loadConfig } = await import(config)
  process.stdin.once('data', (startAt) => {
    const secrets = Array.from({ length: Number(places) }, (_, place) => {
      while (Date.now() < Number(startAt) + 20 * place);
      return loadConfig({ DATA_DIR: directory + '/' + place }).encryptionSecret
    })
    console.log(JSON.stringify(secrets))
    process.exit()
  })
  console.log('ready')`

/** Another process that starts the service for the first time in many folders, when all the others do. */
function startStarter(directory: string) {
  const config = new URL('../src/config.ts', import.meta.url).href
  const args = ['--input-type=module', '--eval', STARTER, config, directory, String(PLACES)]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    ready: async () => assert.is((await lines.next()).value, 'ready'),
    startAt: async (time: number): Promise<string[]> => {
      child.stdin.write(String(time))
      return JSON.parse((await lines.next()).value ?? 'null')
    },
  }
}

const namesOf = (problems: string[]) => problems.map((line) => line.split(':')[0]).toSorted()

scenario('The configuration', startDirectory, (test) => {
  test('has a default for everything', ({ load, directory }) => {
    const config = load({})
    assert.is(config.environment, 'development')
    assert.is(config.host, '127.0.0.1')
    assert.is(config.port, 4000)
    assert.is(config.apiUrl, 'http://127.0.0.1:4000')
    assert.is(config.databaseUrl, null)
    assert.equal(config.roles, ['http', 'worker'])
    assert.equal(config.mail, { provider: 'mailbox', directory: path.join(directory, 'mailbox') })
    assert.equal(config.storage, { kind: 'local' })
    assert.is(config.rateLimitPerMinute, 1000)
    assert.is(config.sendRatePerSecond, 50)
    assert.is(config.idempotencyTtlHours, 24)
    assert.equal(config.dnsServers, [])
    assert.is(config.databaseStatementTimeoutMs, 5_000)
    assert.is(config.trackAcceptsSecretKey, false)
    assert.is(config.maxAttachments, 10)
    assert.is(config.maxAttachmentBytes, 10 * 1024 * 1024)
    assert.is(config.maxMessageBytes, 40 * 1024 * 1024)
    assert.ok(Object.isFrozen(config))
  })

  test('takes an empty variable for one that is not set', ({ load }) => {
    const names = [
      'NODE_ENV',
      'PORT',
      'HOST',
      'DATABASE_URL',
      'DATABASE_POOL_SIZE',
      'DATABASE_STATEMENT_TIMEOUT_SECONDS',
      'ROLES',
      'API_URL',
      'DASHBOARD_URL',
      'JWT_SECRET',
      'ENCRYPTION_SECRET',
      'MAIL_PROVIDER',
      'SMTP_URL',
      'SMTP_EHLO_NAME',
      'MAILGUN_API_KEY',
      'MAILGUN_URL',
      ...Object.keys(S3),
      'S3_ENDPOINT',
      'S3_PUBLIC_URL',
      'DNS_SERVERS',
      'MAX_CONNECTIONS',
      'MAX_CONNECTIONS_PER_ADDRESS',
      'TRUSTED_PROXIES',
      'RATE_LIMIT_PER_MINUTE',
      'PROJECT_SEND_RATE_PER_SECOND',
      'IDEMPOTENCY_TTL_HOURS',
      'TRACK_ACCEPTS_SECRET_KEY',
      'METRICS_TOKEN',
      'LOG_LEVEL',
    ]
    assert.equal(load(Object.fromEntries(names.map((name) => [name, '']))), load({}))
    const problems = problemsOf(() => load({ ...PRODUCTION, JWT_SECRET: '', API_URL: '' }))
    assert.equal(namesOf(problems), ['API_URL', 'JWT_SECRET'])
  })

  test('names every bad variable in one message, without its value', ({ load }) => {
    const bad = {
      NODE_ENV: 'staging-value',
      PORT: '70000',
      DATABASE_URL: 'mysql://user:hunter2@db/mail',
      DATABASE_POOL_SIZE: '1.5',
      ROLES: 'http,cron-value',
      API_URL: 'mail.example',
      DASHBOARD_URL: 'javascript:alert(1)',
      JWT_SECRET: 'hunter2',
      ENCRYPTION_SECRET: 'hunter2',
      MAIL_PROVIDER: 'pigeon-value',
      SMTP_URL: 'https://user:hunter2@smtp.example',
      SMTP_EHLO_NAME: 'host-value',
      MAILGUN_URL: 'ftp://mailgun.example',
      S3_BUCKET: 'Bucket-value/..',
      S3_REGION: 'eu-value/x',
      S3_ENDPOINT: 'file:///hunter2',
      S3_PUBLIC_URL: 'https://cdn.example/?hunter2',
      S3_ACCESS_KEY_ID: '',
      S3_SECRET_ACCESS_KEY: '',
      DNS_SERVERS: 'dns-value.example',
      MAX_CONNECTIONS: '0',
      MAX_CONNECTIONS_PER_ADDRESS: '-1',
      TRUSTED_PROXIES: 'proxy-value.example',
      RATE_LIMIT_PER_MINUTE: '-1',
      PROJECT_SEND_RATE_PER_SECOND: 'many-value',
      IDEMPOTENCY_TTL_HOURS: '0',
      EMAIL_BODY_RETENTION_DAYS: '0',
      MAX_ATTACHMENTS: '-1',
      MAX_ATTACHMENT_MB: 'x-value',
      MAX_MESSAGE_MB: '0',
      TRACK_ACCEPTS_SECRET_KEY: 'yes-value',
      METRICS_TOKEN: 'hunter2',
      LOG_LEVEL: 'loud-value',
    }
    const problems = problemsOf(() => load(bad))
    assert.equal(
      [...new Set(namesOf(problems).map((name) => name?.split('.')[0]))].toSorted(),
      Object.keys(bad).toSorted(),
    )
    assert.not.match(problems.join('\n'), /hunter2|-value|mysql/)
  })

  test('tells what is bad and what is missing at the same time', ({ load }) => {
    const problems = problemsOf(() => load({ NODE_ENV: 'production', PORT: 'x' }))
    assert.equal(namesOf(problems), ['API_URL', 'DATABASE_URL', 'JWT_SECRET', 'MAIL_PROVIDER', 'PORT'])
  })

  test('refuses weak secrets in production', ({ load }) => {
    for (const [name, value] of [
      ['JWT_SECRET', 'short'],
      ['JWT_SECRET', 'x'.repeat(64)],
      ['JWT_SECRET', '0101'.repeat(16)],
      ['ENCRYPTION_SECRET', SECRET.slice(1)],
      ['ENCRYPTION_SECRET', 'abab'.repeat(16)],
      ['METRICS_TOKEN', '12345'],
    ] as const) {
      const names = namesOf(problemsOf(() => load({ ...PRODUCTION, [name]: value })))
      assert.equal([...new Set(names)], [name])
    }
  })

  test('takes a mailbox in production only when it is asked for', ({ load }) => {
    const { SMTP_URL: _without, ...rest } = PRODUCTION
    assert.equal(namesOf(problemsOf(() => load(rest))), ['MAIL_PROVIDER'])
    assert.is(load({ ...rest, MAIL_PROVIDER: 'mailbox' }).mail.provider, 'mailbox')
    assert.is(load(PRODUCTION).mail.provider, 'smtp')
    assert.is(load(PRODUCTION).host, '0.0.0.0')
  })

  test('chooses the provider by what is configured', ({ load }) => {
    const SMTP_URL = 'smtp://127.0.0.1:2525'
    assert.equal(load({ SMTP_URL, API_URL: 'https://mail.sender.example/base' }).mail, {
      provider: 'smtp',
      url: SMTP_URL,
      connections: 10,
      ehloName: 'mail.sender.example',
    })
    const both = load({ SMTP_URL, MAILGUN_API_KEY: 'key', MAILGUN_URL: 'http://127.0.0.1:9/' })
    assert.equal(both.mail, { provider: 'mailgun', apiKey: 'key', url: 'http://127.0.0.1:9' })
    assert.is(load({ SMTP_URL, MAILGUN_API_KEY: 'key', MAIL_PROVIDER: 'smtp' }).mail.provider, 'smtp')
    assert.equal(namesOf(problemsOf(() => load({ MAIL_PROVIDER: 'smtp' }))), ['SMTP_URL'])
    assert.equal(namesOf(problemsOf(() => load({ MAIL_PROVIDER: 'mailgun' }))), ['MAILGUN_API_KEY'])
  })

  test('takes the name of this host in EHLO, and refuses what is none', ({ load }) => {
    const SMTP_URL = 'smtp://127.0.0.1:2525'
    const nameFor = (env: Record<string, string>) => {
      const { mail } = load({ SMTP_URL, ...env })
      return mail.provider === 'smtp' ? mail.ehloName : undefined
    }
    const API_URL = 'https://mail.sender.example'
    for (const SMTP_EHLO_NAME of ['out.sender.example', '[192.0.2.7]', '[IPv6:2001:db8::7]']) {
      assert.is(nameFor({ API_URL, SMTP_EHLO_NAME }), SMTP_EHLO_NAME)
    }
    for (const SMTP_EHLO_NAME of [
      'localhost',
      '192.0.2.7',
      '[192.0.2]',
      '[2001:db8::7]',
      'a b.example',
      'a.example\r\nQUIT',
    ]) {
      assert.equal(namesOf(problemsOf(() => load({ SMTP_URL, SMTP_EHLO_NAME }))), ['SMTP_EHLO_NAME'])
    }
  })

  test('keeps images in S3 when all of it is there', ({ load }) => {
    const common = {
      kind: 's3',
      bucket: 'images',
      region: 'eu-central-1',
      accessKeyId: 'AKIAEXAMPLE',
      secretAccessKey: 'secret-value',
    }
    const publicUrl = 'https://images.s3.eu-central-1.amazonaws.com'
    assert.equal(load(S3).storage, { ...common, endpoint: null, publicUrl })
    const endpoint = 'http://127.0.0.1:9000'
    assert.equal(load({ ...S3, S3_ENDPOINT: `${endpoint}/` }).storage, {
      ...common,
      endpoint,
      publicUrl: `${endpoint}/images`,
    })
    assert.equal(load({ ...S3, S3_ENDPOINT: endpoint, S3_PUBLIC_URL: 'https://cdn.example/mail/' }).storage, {
      ...common,
      endpoint,
      publicUrl: 'https://cdn.example/mail',
    })
    assert.equal(load({ ...S3, S3_BUCKET: 'img.example.com' }).storage, {
      ...common,
      bucket: 'img.example.com',
      endpoint: null,
      publicUrl: 'https://s3.eu-central-1.amazonaws.com/img.example.com',
    })
  })

  test('refuses a half of S3, and names all of the rest', ({ load }) => {
    const needed = Object.keys(S3)
    for (const [name, value] of Object.entries(S3)) {
      const problems = problemsOf(() => load({ [name]: value }))
      assert.equal(namesOf(problems), needed.filter((other) => other !== name).toSorted())
      assert.not.match(problems.join('\n'), /secret-value|AKIAEXAMPLE/)
      assert.equal(namesOf(problemsOf(() => load({ ...S3, [name]: '' }))), [name])
    }
    for (const name of ['S3_ENDPOINT', 'S3_PUBLIC_URL']) {
      assert.equal(namesOf(problemsOf(() => load({ [name]: 'https://s3.example' }))), needed.toSorted())
    }
    const everything = problemsOf(() => load({ S3_BUCKET: 'images', PORT: 'x', MAIL_PROVIDER: 'smtp' }))
    assert.equal(
      namesOf(everything),
      ['PORT', 'SMTP_URL', ...needed.filter((name) => name !== 'S3_BUCKET')].toSorted(),
    )
  })

  test('keeps a random secret of development, for this user only', ({ load, directory }) => {
    const file = path.join(directory, 'secret')
    const { encryptionSecret } = load({})
    assert.match(encryptionSecret, /^[0-9a-f]{64}$/)
    assert.is(readFileSync(file, 'utf8'), encryptionSecret)
    assert.is(statSync(file).mode & 0o777, 0o600)
    assert.is(load({}).encryptionSecret, encryptionSecret)
    assert.is(load({ JWT_SECRET: SECRET }).encryptionSecret, SECRET)
    assert.is(load({ JWT_SECRET: SECRET, ENCRYPTION_SECRET: `${SECRET}x` }).encryptionSecret, `${SECRET}x`)
  })

  test('refuses a secret that is not whole, and leaves the file as it is', ({ load, directory }) => {
    const file = path.join(directory, 'secret')
    const whole = load({}).encryptionSecret
    for (const damaged of [
      '',
      whole.slice(1),
      `${whole}0`,
      `${whole.slice(1)}g`,
      'correct horse battery staple',
    ]) {
      writeFileSync(file, damaged)
      const problems = problemsOf(() => load({}))
      assert.equal(namesOf(problems), ['DATA_DIR'])
      assert.match(problems.join(), /secret must hold 64 hex characters/)
      if (damaged !== '') assert.not.match(problems.join(), damaged)
      assert.is(readFileSync(file, 'utf8'), damaged)
      assert.is(load({ JWT_SECRET: SECRET }).encryptionSecret, SECRET)
    }
    writeFileSync(file, `${whole}\n`)
    assert.is(load({}).encryptionSecret, whole)
  })

  test('says that a secret cannot be kept', ({ directory }) => {
    const file = path.join(directory, 'no-directory')
    writeFileSync(file, '')
    assert.equal(namesOf(problemsOf(() => loadConfig({ DATA_DIR: file }))), ['DATA_DIR'])
  })

  test('has one secret for all processes that start at the same moment', async ({ directory }) => {
    const starters = Array.from({ length: 3 }, () => startStarter(directory))
    await Promise.all(starters.map(({ ready }) => ready()))
    const startAt = Date.now() + 50
    const [secrets = [], ...others] = await Promise.all(starters.map((one) => one.startAt(startAt)))
    assert.is(new Set(secrets).size, PLACES)
    for (const told of others) assert.equal(told, secrets)
    for (const [place, secret] of secrets.entries()) {
      assert.match(secret, /^[0-9a-f]{64}$/)
      assert.equal(readdirSync(path.join(directory, String(place))), ['secret'])
    }
  })

  test('takes tls=optional in SMTP_URL, and nothing else for tls', ({ load }) => {
    const { mail } = load({ SMTP_URL: 'smtp://user:pw@smtp.example?tls=optional' })
    assert.is(mail.provider, 'smtp')
    for (const query of ['tls=', 'tls=false', 'tls=Optional', 'tls=optional&tls=false']) {
      const problems = problemsOf(() => load({ SMTP_URL: `smtp://user:hunter2@smtp.example?${query}` }))
      assert.equal(problems, ['SMTP_URL: its parameter tls can only be optional'], query)
    }
  })

  test('takes addresses and networks of proxies, and nothing else', ({ load }) => {
    assert.equal(load({}).connections.trustedProxies, ['127.0.0.0/8', '::1'])
    const proxies = ['192.0.2.1', '10.0.0.0/8', '2001:db8::/32', '::1', '0.0.0.0/0']
    assert.equal(load({ TRUSTED_PROXIES: proxies.join(', ') }).connections.trustedProxies, proxies)
    for (const TRUSTED_PROXIES of [
      'proxy.example',
      '192.0.2.1/33',
      '2001:db8::/129',
      '10.0.0.0/',
      '10/8',
      '1.2.3.4/8/8',
    ]) {
      assert.equal(namesOf(problemsOf(() => load({ TRUSTED_PROXIES }))), ['TRUSTED_PROXIES.0'])
    }
  })

  test('takes limits of destinations and a warm-up, and says how they are written', ({ load }) => {
    const limits = (value: string) => load({ DESTINATION_LIMITS: value }).destinationLimits
    assert.equal(load({}).destinationLimits, new Map())
    assert.equal(
      [...limits('gmail=20/s:10, T-Online.de=0.5/s,other=2/s:1')],
      [
        ['gmail', { perSecond: 20, connections: 10 }],
        ['t-online.de', { perSecond: 0.5, connections: null }],
        ['other', { perSecond: 2, connections: 1 }],
      ],
    )
    const bad = [
      'gmail',
      'gmail=20',
      'gmail=0/s',
      'gmail=20/m',
      'gmail=20/s:0',
      'gmail=20/s:',
      'mail=1/s',
      '=1/s',
    ]
    for (const value of bad) {
      const problems = problemsOf(() => limits(`apple=1/s,${value}`))
      assert.is(problems.length, 1, value)
      assert.match(problems[0] ?? '', /^DESTINATION_LIMITS\.1: must be a destination .*gmail=20\/s:10/)
    }
    assert.equal(load({ DOMAIN_WARM_UP: '50, 100' }).domainWarmUp, [50, 100])
    for (const value of ['0', '50,x', '-1', '1.5', '1'.repeat(9)]) {
      assert.match(
        problemsOf(() => load({ DOMAIN_WARM_UP: value })).join(),
        /^DOMAIN_WARM_UP\.\d: must be messages of a day/,
      )
    }
  })

  test('takes the addresses of DNS servers, as node:dns does', ({ load }) => {
    const servers = ['192.0.2.1', '192.0.2.1:53', '2001:db8::1', '[2001:db8::1]', '[2001:db8::1]:5353']
    const { dnsServers } = load({ DNS_SERVERS: ` ${servers.join(' , ')},` })
    assert.equal(dnsServers, servers)
    const resolver = new Resolver()
    resolver.setServers(dnsServers)
    assert.equal(resolver.getServers(), ['192.0.2.1', '2001:db8::1', '[2001:db8::1]:5353'])
  })

  test('refuses what is no address of a DNS server, and says what is one', ({ load }) => {
    for (const DNS_SERVERS of [
      'dns.example',
      'dns.example:53',
      'localhost',
      '192.0.2.1:0',
      '192.0.2.1:65536',
      '192.0.2.1:',
      '192.0.2.1:53:53',
      '192.0.2',
      '192.0.2.256:53',
      '[2001:db8::1',
      '[192.0.2.1]:53',
      '[]:53',
      'https://192.0.2.1/',
      '192.0.2.1;192.0.2.2',
      '192.0.2.1,dns.example',
      ',',
    ]) {
      const problems = problemsOf(() => load({ DNS_SERVERS }))
      assert.equal(
        namesOf(problems).map((name) => name?.split('.')[0]),
        ['DNS_SERVERS'],
        DNS_SERVERS,
      )
      if (DNS_SERVERS !== ',')
        assert.match(problems.join(), 'must be an IP address with or without a port; names cannot be used')
    }
  })

  test('reads lists and addresses as people write them', ({ load }) => {
    assert.equal(load({ ROLES: ' worker , ' }).roles, ['worker'])
    assert.equal(namesOf(problemsOf(() => load({ ROLES: ',' }))), ['ROLES'])
    const { apiUrl, basePath } = load({ API_URL: 'https://mail.example/base//' })
    assert.equal([apiUrl, basePath], ['https://mail.example/base', '/base'])
    assert.is(load({ API_URL: 'https://mail.example/' }).basePath, '')
  })
})
