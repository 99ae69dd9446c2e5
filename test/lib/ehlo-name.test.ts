import * as assert from 'uvu/assert'
import { ehloNameOf } from '../../src/lib/net/ehlo-name.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

scenario('The name in EHLO', nothingShared, (test) => {
  test('is the host of the public address, else the full name of the machine, else an address', () => {
    for (const [apiUrl, machine, expected] of [
      ['https://mail.sender.example/base', 'node7.internal.example', 'mail.sender.example'],
      ['https://bücher.example', 'node7', 'xn--bcher-kva.example'],
      ['http://localhost:4000', 'node7.internal.example', 'node7.internal.example'],
      ['http://app.localhost:4000', 'node7', '[127.0.0.1]'],
      ['http://localhost:4000', 'node7', '[127.0.0.1]'],
      ['http://mail:4000', 'node7', '[127.0.0.1]'],
      ['http://192.0.2.7:4000', 'node7.internal.example', 'node7.internal.example'],
      ['http://192.0.2.7:4000', 'node7', '[192.0.2.7]'],
      ['http://[2001:db8::7]:4000', 'node7', '[IPv6:2001:db8::7]'],
    ] as const) {
      assert.is(ehloNameOf(apiUrl, machine), expected)
    }
  })
})
