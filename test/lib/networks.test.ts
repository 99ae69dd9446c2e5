import * as assert from 'uvu/assert'
import { isNetwork, networksOf, subscriberOf } from '../../src/lib/net/networks.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

scenario('Networks', nothingShared, (test) => {
  test('are addresses, with or without the length of a prefix', () => {
    for (const text of ['192.0.2.1', '10.0.0.0/8', '::1', '2001:db8::/32', '0.0.0.0/0']) {
      assert.is(isNetwork(text), true, text)
    }
    for (const text of [
      '',
      'proxy',
      '10.0.0',
      '10.0.0.0/33',
      '10.0.0.0/',
      '::1/129',
      '10.0.0.0/8/8',
      '1/2',
    ]) {
      assert.is(isNetwork(text), false, text)
    }
  })

  test('hold the addresses in them, IPv4 in its IPv6 form too', () => {
    const isIn = networksOf(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32'])
    for (const address of ['10.255.0.1', '192.0.2.1', '::ffff:10.0.0.1', '2001:db8:1::1']) {
      assert.is(isIn(address), true, address)
    }
    for (const address of ['11.0.0.1', '192.0.2.2', '::1', '2001:db9::1', 'text', '']) {
      assert.is(isIn(address), false, address)
    }
    assert.is(networksOf([])('127.0.0.1'), false)
  })

  test('of IPv6 are what one subscriber has, whatever the address is written like', () => {
    for (const [address, subscriber] of [
      ['192.0.2.1', '192.0.2.1'],
      ['::ffff:192.0.2.1', '192.0.2.1'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
      ['2001:db8::', '2001:db8:0:0::/64'],
      ['2001:db8::1', '2001:db8:0:0::/64'],
      ['::1', '0:0:0:0::/64'],
      ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ] as const) {
      assert.is(subscriberOf(address), subscriber, address)
    }
  })
})
