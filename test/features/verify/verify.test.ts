import * as assert from 'uvu/assert'
import { MINUTE, SECOND } from '../../support/clock.ts'
import { type Names, startDnsServer } from '../../support/dns-server.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Service, startService } from '../../support/service.ts'

/** A company with all that it can have. */
const COMPANY: Names = {
  'company.example': {
    NS: ['ns1.company.example'],
    SOA: ['ns1.company.example'],
    MX: ['10 mx.company.example'],
    A: ['192.0.2.1'],
    AAAA: ['2001:db8::1'],
  },
  'www.company.example': { A: ['192.0.2.1'], AAAA: ['2001:db8::1'] },
}

const QUESTIONS = [
  'A company.example',
  'A www.company.example',
  'AAAA company.example',
  'AAAA www.company.example',
  'MX company.example',
  'NS company.example',
  'SOA company.example',
]

const VALID = {
  email: 'ada@company.example',
  valid: true,
  isDisposable: false,
  isAlias: false,
  isTypo: false,
  isPlusAddressed: false,
  isPersonalEmail: false,
  domainExists: true,
  hasWebsite: true,
  hasMxRecords: true,
  suggestedEmail: null,
  reasons: ['The address looks valid.'],
}

/** Longer than a verification may take, for a busy machine. */
const LIMIT_MS = 8_000

async function start() {
  const dns = await startDnsServer()
  const service = await startService({ ROLES: 'http', DNS_SERVERS: dns.address })
  const stop = async () => {
    await service.stop()
    await dns.stop()
  }
  /** Replaces what the DNS says, and lets the service forget what it said before. */
  const serve = async (names: Names) => {
    await dns.serve(names)
    service.clock.advance(61 * MINUTE)
    await dns.questions()
  }
  return { service, dns, serve, stop }
}

const post = ({ as, project }: Service, body: unknown, key = project.secret) =>
  as(key).post('/v1/verify', body)

async function verify(service: Service, email: string): Promise<Body> {
  const { status, body, text } = await post(service, { email })
  assert.is(status, 200, text)
  assert.equal(Object.keys(body), ['success', 'data'])
  assert.is(body.success, true)
  return body.data
}

const foundIn = ({ domainExists, hasMxRecords, hasWebsite, valid }: Body) => ({
  domainExists,
  hasMxRecords,
  hasWebsite,
  valid,
})

scenario('POST /v1/verify', start, (test) => {
  test('answers with everything that is known of an address', async ({ service, serve, dns }) => {
    await serve(COMPANY)
    assert.equal(await verify(service, 'ada@company.example'), VALID)
    assert.equal(await dns.questions(), QUESTIONS)
  })

  test('answers with the address as contacts have it', async ({ service, serve }) => {
    await serve(COMPANY)
    assert.equal(await verify(service, ' Ada@Company.EXAMPLE '), VALID)
  })

  for (const [what, names, expected, reason] of [
    [
      'a domain with an address alone',
      { 'company.example': { NS: ['ns.example'], A: ['192.0.2.1'] } },
      { domainExists: true, hasMxRecords: true, hasWebsite: true, valid: true },
      'has no MX record; mail goes to its address',
    ],
    [
      'a domain that takes no mail',
      { 'company.example': { NS: ['ns.example'], MX: ['0 .'], A: ['192.0.2.1'] } },
      { domainExists: true, hasMxRecords: false, hasWebsite: true, valid: false },
      'null MX',
    ],
    [
      'a domain that does not exist',
      {},
      { domainExists: false, hasMxRecords: false, hasWebsite: false, valid: false },
      'does not exist',
    ],
    [
      'a domain without mail or website',
      { 'company.example': { NS: ['ns.example'] } },
      { domainExists: true, hasMxRecords: false, hasWebsite: false, valid: false },
      'has no mail server',
    ],
    [
      'a name without any record',
      { 'company.example': {} },
      { domainExists: true, hasMxRecords: false, hasWebsite: false, valid: false },
      'has no mail server',
    ],
    [
      'a name that has only mail, as a subdomain does',
      { 'company.example': { MX: ['10 mx.example'] } },
      { domainExists: true, hasMxRecords: true, hasWebsite: false, valid: true },
      'looks valid',
    ],
    [
      'a website under www alone',
      { 'company.example': { MX: ['10 mx.example'] }, 'www.company.example': { AAAA: ['2001:db8::1'] } },
      { domainExists: true, hasMxRecords: true, hasWebsite: true, valid: true },
      'looks valid',
    ],
    [
      'answers that are too long for UDP',
      { 'company.example': { others: 'truncated' } },
      { domainExists: true, hasMxRecords: true, hasWebsite: true, valid: true },
      'looks valid',
    ],
    [
      'a DNS server that fails',
      { '*': { others: 'SERVFAIL' } },
      { domainExists: false, hasMxRecords: false, hasWebsite: false, valid: false },
      /could not be asked .* \(SERVFAIL\)\. Try again\.$/,
    ],
    [
      'a DNS server that refuses',
      { '*': { others: 'REFUSED' } },
      { domainExists: false, hasMxRecords: false, hasWebsite: false, valid: false },
      /could not be asked .* \(REFUSED\)\. Try again\.$/,
    ],
    [
      'answers that cannot be read',
      { '*': { others: 'garbage' } },
      { domainExists: false, hasMxRecords: false, hasWebsite: false, valid: false },
      /could not be asked .*: the answer could not be read\. Try again\.$/,
    ],
    [
      'a failure for the mail alone',
      { 'company.example': { MX: 'SERVFAIL', NS: ['ns.example'], A: ['192.0.2.1'] } },
      { domainExists: true, hasMxRecords: false, hasWebsite: true, valid: false },
      'could not be asked whether company.example takes mail:',
    ],
  ] satisfies [string, Names, object, string | RegExp][]) {
    test(`judges ${what}`, async ({ service, serve }) => {
      await serve(names)
      const data = await verify(service, 'ada@company.example')
      assert.equal(foundIn(data), expected)
      assert.match(data.reasons.join('\n'), reason)
    })
  }

  test('does not wait long for a DNS server that is silent', async ({ service, serve }) => {
    await serve({ '*': { others: 'silence' } })
    const startedAt = performance.now()
    const data = await verify(service, 'ada@company.example')
    assert.ok(performance.now() - startedAt < LIMIT_MS)
    assert.is(data.valid, false)
    assert.match(
      data.reasons.join(),
      /exists, takes mail and has a website: no answer came in time. Try again/,
    )
  })

  test('asks for an international domain in its ASCII form', async ({ service, serve, dns }) => {
    await serve({ 'xn--mller-kva.example': { MX: ['10 mx.example'] } })
    const data = await verify(service, 'ada@Müller.example')
    assert.is(data.valid, true)
    assert.is(data.email, 'ada@müller.example')
    assert.ok((await dns.questions()).includes('MX xn--mller-kva.example'))
    assert.equal(await verify(service, 'ada@xn--mller-kva.example'), data)
  })

  test('knows the kind of a domain, and disposable addresses can be valid', async ({ service, serve }) => {
    await serve({ '*': { MX: ['10 mx.example'] } })
    const kinds = async (email: string) => {
      const { valid, isDisposable, isAlias, isPersonalEmail, isPlusAddressed } = await verify(service, email)
      return { valid, isDisposable, isAlias, isPersonalEmail, isPlusAddressed }
    }
    const none = {
      valid: true,
      isDisposable: false,
      isAlias: false,
      isPersonalEmail: false,
      isPlusAddressed: false,
    }
    assert.equal(await kinds('ada@mailinator.com'), { ...none, isDisposable: true })
    assert.equal(await kinds('ada@x.mailinator.com'), { ...none, isDisposable: true })
    assert.equal(await kinds('ada@duck.com'), { ...none, isAlias: true })
    assert.equal(await kinds('ada+1@gmail.com'), { ...none, isPersonalEmail: true, isPlusAddressed: true })
    assert.equal(await kinds('info@company.example'), none)
  })

  test('suggests what was probably meant', async ({ service, serve }) => {
    await serve({ '*': { MX: ['10 mx.example'] } })
    const typo = await verify(service, 'ada+1@gmial.com')
    assert.equal(
      { isTypo: typo.isTypo, suggestedEmail: typo.suggestedEmail, valid: typo.valid },
      { isTypo: true, suggestedEmail: 'ada+1@gmail.com', valid: false },
    )
    assert.match(typo.reasons.join(), 'misspelling of gmail.com')
    assert.is((await verify(service, 'ada@gmz.de')).valid, true)
    await serve({})
    assert.is((await verify(service, 'ada@gmz.de')).suggestedEmail, 'ada@gmx.de')
  })

  test('asks nothing twice while the answers live', async ({ service, serve, dns }) => {
    await serve(COMPANY)
    const first = await verify(service, 'ada@company.example')
    assert.equal(await dns.questions(), QUESTIONS)
    service.clock.advance(4 * MINUTE)
    assert.equal(await verify(service, 'ada@company.example'), first)
    assert.is((await verify(service, 'grace@company.example')).valid, true)
    assert.equal(await dns.questions(), [])
    service.clock.advance(61 * SECOND)
    await verify(service, 'ada@company.example')
    assert.equal(await dns.questions(), QUESTIONS)
  })

  test('asks again after a failure, at once', async ({ service, serve, dns }) => {
    await serve({ '*': { others: 'SERVFAIL' } })
    assert.is((await verify(service, 'ada@company.example')).valid, false)
    await dns.serve(COMPANY)
    assert.equal(await verify(service, 'ada@company.example'), VALID)
  })

  test('asks once for many verifications at the same time', async ({ service, serve, dns }) => {
    await serve(COMPANY)
    const all = await Promise.all(Array.from({ length: 20 }, () => verify(service, 'ada@company.example')))
    for (const data of all) assert.equal(data, VALID)
    assert.equal(await dns.questions(), QUESTIONS)
  })

  test('does not mix two domains', async ({ service, serve }) => {
    await serve({ ...COMPANY, 'other.example': { MX: ['0 .'] } })
    for (let round = 0; round < 2; round += 1) {
      const [one, other] = await Promise.all([
        verify(service, 'ada@company.example'),
        verify(service, 'ada@other.example'),
      ])
      assert.is(one.valid, true)
      assert.equal([other.valid, other.hasMxRecords, other.domainExists], [false, false, true])
    }
  })

  test('changes nothing and keeps nothing', async ({ service, serve }) => {
    await serve(COMPANY)
    await verify(service, 'ada@company.example')
    const [row] = await service.sql('select count(*)::int as n from contacts')
    assert.is(row?.n, 0)
  })

  for (const [what, body, code] of [
    ['no address', {}, 'required'],
    ['null', { email: null }, 'invalid_type'],
    ['an empty address', { email: '' }, 'invalid_string'],
    ['no domain', { email: 'ada' }, 'invalid_string'],
    ['a domain of one label', { email: 'ada@localhost' }, 'invalid_string'],
    ['an IP address', { email: 'ada@192.0.2.1' }, 'invalid_string'],
    ['a name with an address', { email: 'Ada <ada@example.org>' }, 'invalid_string'],
    ['two addresses', { email: 'ada@example.org,grace@example.org' }, 'invalid_string'],
    ['a number', { email: 5 }, 'invalid_type'],
    ['a list', { email: ['ada@example.org'] }, 'invalid_type'],
  ] as const) {
    test(`refuses ${what}`, async ({ service, dns }) => {
      await dns.questions()
      const error = assertRefused(await post(service, body), 422, 'VALIDATION_ERROR')
      assert.equal(
        error.errors.map((one: Body) => [one.field, one.code]),
        [['email', code]],
      )
      assert.equal(await dns.questions(), [])
    })
  }

  test('refuses a body that is none', async ({ service }) => {
    assertRefused(await post(service, '{'), 400, 'INVALID_REQUEST_BODY')
    assertRefused(await post(service, []), 400, 'INVALID_REQUEST_BODY')
  })

  test('takes the secret key and nothing else', async ({ service, dns }) => {
    const body = { email: 'ada@company.example' }
    await dns.questions()
    assertRefused(await post(service, body, ''), 401, 'MISSING_AUTH')
    assertRefused(await post(service, body, service.project.public), 401, 'INVALID_API_KEY')
    assertRefused(await post(service, body, `sk_${'0'.repeat(64)}`), 401, 'INVALID_API_KEY')
    assert.equal(await dns.questions(), [])
  })

  test('is a read: a disabled project may use it', async ({ service, serve }) => {
    await serve(COMPANY)
    const disabled = await service.newProject()
    await service.sql('update projects set disabled = true where id = $1', [disabled.id])
    assert.is((await post(service, { email: 'ada@company.example' }, disabled.secret)).status, 200)
  })

  test('is a POST alone', async ({ service }) => {
    const answer = await service.as().get('/v1/verify')
    assertRefused(answer, 405, 'METHOD_NOT_ALLOWED')
  })
})

const QUERY = `query($input: VerifyEmailInput!) { emailVerification(input: $input) { ${Object.keys(VALID).join(' ')} } }`

scenario('emailVerification', start, (test) => {
  const ask = ({ as, project }: Service, email: string, key = project.secret) =>
    as(key).graphql(QUERY, { input: { email } })

  test('answers as REST does', async ({ service, serve }) => {
    await serve({
      ...COMPANY,
      'gmial.com': { MX: ['10 mx.example'] },
      'fails.example': { others: 'REFUSED' },
    })
    for (const email of ['Ada@company.example', 'ada+1@gmial.com', 'ada@gone.example', 'ada@fails.example']) {
      const { body } = await ask(service, email)
      assert.equal(body, { data: { emailVerification: await verify(service, email) } })
    }
  })

  test('refuses what REST refuses', async ({ service }) => {
    const { errors } = assertGraphQLRefused(await ask(service, 'ada'), 422, 'VALIDATION_ERROR')
    assert.equal(
      errors.map((one: Body) => [one.field, one.code]),
      [['email', 'invalid_string']],
    )
    const email = 'ada@company.example'
    assertGraphQLRefused(await ask(service, email, ''), 401, 'MISSING_AUTH')
    assertGraphQLRefused(await ask(service, email, service.project.public), 401, 'INVALID_API_KEY')
  })
})

const startWithoutDns = () => startService({ ROLES: 'http', DNS_SERVERS: '127.0.0.1:1,[::1]:1' })

scenario('A service without DNS', startWithoutDns, (test) => {
  test('starts, and says that the DNS cannot be reached', async (service) => {
    const data = await verify(service, 'ada+1@gmail.com')
    assert.equal(foundIn(data), { domainExists: false, hasMxRecords: false, hasWebsite: false, valid: false })
    assert.match(data.reasons[0], 'no DNS server could be reached. Try again.')
    assert.equal([data.isPersonalEmail, data.isPlusAddressed], [true, true])
  })
})
