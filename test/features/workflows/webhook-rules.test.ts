import * as assert from 'uvu/assert'
import {
  addressOf,
  callFrom,
  isAddressTemplate,
  MAX_BODY,
  problemOfHeader,
  textsOf,
} from '../../../src/features/workflows/steps/webhook.rules.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'

scenario('The call of a WEBHOOK step', nothingShared, (test) => {
  test('goes to a host that no value can change', () => {
    for (const good of [
      'https://a.example',
      'https://a.example:8443/x/{{id}}?q={{data.q}}#{{x}}',
      'HTTP://a.example/{{{id}}}',
      'https://a.example?{{#x}}y={{x}}{{/x}}',
      'https://[2001:db8::1]/x',
    ]) {
      assert.ok(isAddressTemplate(good), good)
    }
    for (const bad of [
      'ftp://a.example/',
      'https://{{host}}/',
      'https://a.{{region}}.example/',
      'https://a.example{{path}}',
      'https://a.example:{{port}}/',
      'https://user:{{pass}}@a.example/',
      'https://user@a.example/',
      'https://a.example\\{{x}}',
      'https://a example/',
      'https://a.example/x/../{{id}}',
      'https:///x',
      `https://a.example/${'x'.repeat(2_100)}`,
    ]) {
      assert.not.ok(isAddressTemplate(bad), bad)
    }
  })

  test('does not go a step up, however that is written', () => {
    for (const up of ['..', '.', '%2e%2E', '.%2e', '%2E']) {
      assert.is(addressOf(`https://a.example/x/${up}/y`), null, up)
      assert.is(addressOf(`https://a.example/x/${up}`), null, up)
    }
    assert.is(addressOf('https://a.example/x/a..b/?q=../..'), 'https://a.example/x/a..b/?q=../..')
  })

  test('has no headers that end others, or that the service sets', () => {
    for (const own of ['Host', 'content-length', 'Webhook-Signature', 'proxy-authorization', 'TE']) {
      assert.match(problemOfHeader(own) ?? '', /sets itself/)
    }
    for (const wrong of ['', 'a b', 'a:b', 'a\r\nb', 'ä'])
      assert.match(problemOfHeader(wrong) ?? '', /not the name/)
    assert.is(problemOfHeader('X-Api-Key'), null)
    const config = { url: 'https://a.example/', method: 'POST' as const, headers: { 'X-Name': '{{name}}' } }
    const call = callFrom(config, ['https://a.example/', 'Ada\r\nEvil: 1\u0000 Łuk '])
    assert.is(
      typeof call === 'string' || Buffer.from(call.headers['x-name'] ?? '', 'latin1').toString(),
      'Ada Evil: 1  Łuk',
    )
    assert.match(String(callFrom(config, ['https://a.example/', 'x'.repeat(9_000)])), /longer than/)
  })

  test('has a body of JSON whose texts are filled in, or text, or none', () => {
    const url = 'https://a.example/'
    const body = { name: '{{name}}', list: [1, true, null, { deep: '{{deep}}' }], __proto__: undefined }
    const config = { url, method: 'POST' as const, body }
    assert.equal(
      textsOf(config).map(({ field, template, purpose }) => [field, template, purpose]),
      [
        ['config.url', url, 'url'],
        ['config.body', '{{name}}', 'text'],
        ['config.body', '{{deep}}', 'text'],
      ],
    )
    const filled = callFrom(config, [url, 'A"d\\a', '}'])
    assert.equal(filled, {
      ...{ url, method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ name: 'A"d\\a', list: [1, true, null, { deep: '}' }] }),
    })
    const text = callFrom({ url, method: 'PUT', body: 'x', headers: { 'Content-Type': 'text/xml' } }, [
      url,
      'text/xml',
      '<a/>',
    ])
    assert.equal(text, { url, method: 'PUT', headers: { 'content-type': 'text/xml' }, body: '<a/>' })
    assert.equal(callFrom({ url, method: 'GET' }, [url]), { url, method: 'GET', headers: {}, body: '' })
    const large = callFrom({ url, method: 'POST', body: 'x' }, [url, 'ä'.repeat(MAX_BODY / 2 + 1)])
    assert.match(String(large), /larger than/)
  })
})
