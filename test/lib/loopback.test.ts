import * as assert from 'uvu/assert'
import { isLoopbackAddress, isLoopbackHost } from '../../src/lib/net/loopback.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

const ADDRESSES = [
  '127.0.0.1',
  '127.255.255.254',
  '::1',
  '0:0:0:0:0:0:0:1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
]
const OTHERS = [
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '128.0.0.1',
  '126.255.255.255',
  '::2',
  '::ffff:10.0.0.1',
  '::127.0.0.1',
]

scenario('Loopback', nothingShared, (test) => {
  test('is known by its addresses', () => {
    for (const address of ADDRESSES) {
      assert.ok(isLoopbackAddress(address), address)
      assert.ok(isLoopbackHost(address), address)
    }
    for (const address of [...OTHERS, '', 'localhost', '[::1]', '127.1']) {
      assert.not.ok(isLoopbackAddress(address), address)
    }
  })

  test('is known by its names', () => {
    for (const host of [
      'localhost',
      'LocalHost',
      'localhost.',
      'mail.localhost',
      '[::1]',
      '[::ffff:127.0.0.1]',
    ]) {
      assert.ok(isLoopbackHost(host), host)
    }
    for (const host of [
      ...OTHERS,
      '',
      'localhost.example',
      'localhost..',
      '127.0.0.1.',
      'notlocalhost',
      '127.0.0.1.example',
      'localhost:80',
      '[127.0.0.1',
      '2130706433',
      '127.1',
    ]) {
      assert.not.ok(isLoopbackHost(host), host)
    }
  })
})
