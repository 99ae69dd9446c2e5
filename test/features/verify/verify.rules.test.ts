import * as assert from 'uvu/assert'
import { type DnsFacts, judgeAddress } from '../../../src/features/verify/verify.rules.ts'
import type { DnsAnswer, MxRecord } from '../../../src/lib/net/dns-resolver.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'

const found = <Item>(...records: Item[]): DnsAnswer<Item> => ({ state: 'found', records })
const noData = { state: 'noData' } as const
const noName = { state: 'noName' } as const
const failed = (code = 'ETIMEOUT') => ({ state: 'failed', code }) as const

const mx = (...exchanges: string[]): DnsAnswer<MxRecord> =>
  found(...exchanges.map((exchange, priority) => ({ exchange, priority })))

const address = found('192.0.2.1')

/** A domain with its own zone, mail and a website. */
const USUAL: DnsFacts = {
  ns: found('ns1.example.org'),
  soa: found({}),
  mx: mx('mx.example.org'),
  a: address,
  aaaa: noData,
  wwwA: address,
  wwwAaaa: noData,
}

const all = <Answer extends DnsAnswer<never>>(answer: Answer): DnsFacts => ({
  ns: answer,
  soa: answer,
  mx: answer,
  a: answer,
  aaaa: answer,
  wwwA: answer,
  wwwAaaa: answer,
})

const judge = (facts: Partial<DnsFacts> = {}, email = 'ada@company.example') =>
  judgeAddress(email, { ...USUAL, ...facts })

type Found = { exists: boolean; mail: boolean; website: boolean; valid: boolean }

const foundIn = (facts: DnsFacts): Found => {
  const { domainExists, hasMxRecords, hasWebsite, valid } = judge(facts)
  return { exists: domainExists, mail: hasMxRecords, website: hasWebsite, valid }
}

const CASES: [what: string, facts: DnsFacts, result: Found][] = [
  ['a usual domain', USUAL, { exists: true, mail: true, website: true, valid: true }],
  ['nothing', all(noName), { exists: false, mail: false, website: false, valid: false }],
  ['a name without records', all(noData), { exists: true, mail: false, website: false, valid: false }],
  [
    'only the start of authority',
    { ...all(noData), soa: found({}) },
    { exists: true, mail: false, website: false, valid: false },
  ],
  [
    'a subdomain with an MX record',
    { ...all(noData), mx: mx('mx.example.org') },
    { exists: true, mail: true, website: false, valid: true },
  ],
  [
    'only an address',
    { ...all(noData), a: address },
    { exists: true, mail: true, website: true, valid: true },
  ],
  [
    'only an IPv6 address',
    { ...all(noData), aaaa: address },
    { exists: true, mail: true, website: true, valid: true },
  ],
  ['only www', { ...all(noData), wwwA: address }, { exists: true, mail: false, website: true, valid: false }],
  [
    'only www, with IPv6',
    { ...all(noData), wwwAaaa: address },
    { exists: true, mail: false, website: true, valid: false },
  ],
  ['a null MX', { ...USUAL, mx: mx('') }, { exists: true, mail: false, website: true, valid: false }],
  [
    'a null MX beside another',
    { ...USUAL, mx: mx('', 'mx.example.org') },
    { exists: true, mail: true, website: true, valid: true },
  ],
  ['no answer at all', all(failed()), { exists: false, mail: false, website: false, valid: false }],
  [
    'no answer but for mail',
    { ...all(failed()), mx: mx('mx.example.org') },
    { exists: true, mail: true, website: false, valid: true },
  ],
  [
    'no answer for mail',
    { ...USUAL, mx: failed() },
    { exists: true, mail: false, website: true, valid: false },
  ],
  [
    'no answer but that the name does not exist',
    { ...all(failed()), soa: noName },
    { exists: false, mail: false, website: false, valid: false },
  ],
]

scenario('What the DNS tells of an address', nothingShared, (test) => {
  for (const [what, facts, result] of CASES) test(what, () => assert.equal(foundIn(facts), result))
})

const reasons = (facts: DnsFacts) => judge(facts).reasons

scenario('The reasons', nothingShared, (test) => {
  test('are never none', () => {
    for (const [what, facts] of CASES) assert.ok(reasons(facts).length > 0, what)
    assert.equal(reasons(USUAL), ['The address looks valid.'])
  })

  test('tell why mail cannot arrive', () => {
    assert.equal(reasons(all(noName)), ['The domain company.example does not exist.'])
    assert.match(reasons(all(noData)).join(), 'has no mail server')
    assert.match(reasons({ ...USUAL, mx: mx('') }).join(), 'null MX')
  })

  test('tell of mail that goes to the address of the domain', () => {
    assert.match(reasons({ ...all(noData), a: address }).join(), 'has no MX record; mail goes to its address')
  })

  test('tell all that could not be asked in one sentence, and to try again', () => {
    assert.equal(reasons(all(failed())), [
      'The DNS could not be asked whether company.example exists, takes mail and has a website: no answer came in time. Try again.',
    ])
    assert.equal(reasons({ ...all(failed('ESERVFAIL')), mx: mx('mx.example.org'), a: failed('EODD') }), [
      'The address looks valid.',
      'The DNS could not be asked whether company.example has a website: the DNS server failed (SERVFAIL) and the DNS lookup failed (EODD). Try again.',
    ])
  })

  test('do not complain about a question whose answer another one has given', () => {
    assert.equal(reasons({ ...USUAL, ns: failed(), soa: failed(), aaaa: failed(), wwwA: failed() }), [
      'The address looks valid.',
    ])
  })

  test('show an international domain as people write it', () => {
    assert.equal(judge(all(noName), 'ada@müller.example').reasons, [
      'The domain müller.example does not exist.',
    ])
  })
})

type Flag = 'isDisposable' | 'isAlias' | 'isPersonalEmail' | 'isPlusAddressed'

const FLAGS: [email: string, flags: Flag[]][] = [
  ['ada@company.example', []],
  ['ada@example.com', []],
  ['ada@mailinator.com', ['isDisposable']],
  ['ada@inbox.mailinator.com', ['isDisposable']],
  ['ada@mailinator.com.company.example', []],
  ['ada@gmail.com', ['isPersonalEmail']],
  ['ada@googlemail.com', ['isPersonalEmail']],
  ['ada@hotmail.co.uk', ['isPersonalEmail']],
  ['ada@web.de', ['isPersonalEmail']],
  ['ada@tuta.com', ['isPersonalEmail']],
  ['ada@staff.gmail.com', []],
  ['ada@duck.com', ['isAlias']],
  ['x7@privaterelay.appleid.com', ['isAlias']],
  ['shop@ada.anonaddy.com', ['isAlias']],
  ['ada@notduck.com', []],
  ['info@company.example', []],
  ['support@company.example', []],
  ['ada+shop@company.example', ['isPlusAddressed']],
  ['ada+@gmail.com', ['isPersonalEmail', 'isPlusAddressed']],
]

scenario('What an address is', nothingShared, (test) => {
  for (const [email, flags] of FLAGS) {
    test(`${email}: ${flags.join() || 'nothing special'}`, () => {
      const result = judge({}, email)
      const { isDisposable, isAlias, isPersonalEmail, isPlusAddressed } = result
      const every = { isDisposable, isAlias, isPersonalEmail, isPlusAddressed }
      const set = Object.entries(every).flatMap(([name, value]) => (value ? [name] : []))
      assert.equal(set.toSorted(), flags.toSorted())
      assert.is(result.valid, true)
      assert.is(result.reasons.length, 1 + flags.length)
    })
  }
})

scenario('A likely typo', nothingShared, (test) => {
  const suggested = (email: string, facts: Partial<DnsFacts> = {}) => judge(facts, email).suggestedEmail

  test('of the largest providers counts whether the domain takes mail or not', () => {
    for (const [wrong, right] of [
      ['gmial.com', 'gmail.com'],
      ['gmai.com', 'gmail.com'],
      ['gmaill.com', 'gmail.com'],
      ['gnail.com', 'gmail.com'],
      ['gmail.con', 'gmail.com'],
      ['gmail.co', 'gmail.com'],
      ['hotmial.com', 'hotmail.com'],
      ['hotmal.co.uk', 'hotmail.co.uk'],
      ['yaho.com', 'yahoo.com'],
      ['yahooo.fr', 'yahoo.fr'],
      ['outlok.com', 'outlook.com'],
      ['iclod.com', 'icloud.com'],
    ]) {
      for (const facts of [USUAL, all(noName), all(failed())]) {
        const result = judge(facts, `ada+1@${wrong}`)
        assert.is(result.isTypo, true, wrong)
        assert.is(result.suggestedEmail, `ada+1@${right}`)
        assert.is(result.valid, false)
        assert.match(result.reasons.join(), `The domain ${wrong} looks like a misspelling of ${right}.`)
      }
    }
  })

  test('of others counts only where no mail can arrive', () => {
    for (const [wrong, right] of [
      ['mgail.com', 'gmail.com'],
      ['gmz.de', 'gmx.de'],
      ['aol.con', 'aol.com'],
      ['comcats.net', 'comcast.net'],
      ['protonmal.com', 'protonmail.com'],
      ['company.con', 'company.com'],
    ]) {
      assert.is(suggested(`ada@${wrong}`, all(noName)), `ada@${right}`)
      assert.is(suggested(`ada@${wrong}`, { mx: mx('') }), `ada@${right}`)
      for (const facts of [USUAL, all(failed())]) {
        assert.is(suggested(`ada@${wrong}`, facts), null)
        assert.is(judge(facts, `ada@${wrong}`).isTypo, false)
      }
    }
  })

  test('is never a known provider, nor what is far from all of them', () => {
    for (const domain of [
      ...[
        'gmail.com',
        'mail.com',
        'ymail.com',
        'gmx.de',
        'gmx.net',
        'gmx.ch',
        'me.com',
        'mac.com',
        'aim.com',
      ],
      ...['yahoo.fr', 'yahoo.com.ar', 'yahoo.co.in', 'hotmail.fr', 'outlook.sa'],
      ...[
        'live.nl',
        'web.de',
        'proton.me',
        'duck.com',
        'foxmail.com',
        'online.de',
        'company.example',
        'mail.company.example',
        'ibm.com',
      ],
      ...['hp.com', 'ge.com', 'google.com', 'company.pt', 'company.io', 'xn--mller-kva.example'],
    ]) {
      for (const facts of [USUAL, all(noName)]) assert.is(suggested(`ada@${domain}`, facts), null, domain)
    }
  })

  test('is not a domain that takes mail and begins otherwise, or belongs to another country', () => {
    for (const domain of ['vmail.com', 'cloud.com', 'email.com', 'yahoo.gr', 'hotmail.gr']) {
      assert.is(judge({}, `ada@${domain}`).valid, true, domain)
    }
  })
})
