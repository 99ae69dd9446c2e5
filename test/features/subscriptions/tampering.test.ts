import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { eventsOf } from '../sending/send-support.ts'
import { isSubscribed, newsletter, oneClick, subscribeAgain } from './subscription-support.ts'

/** Where in a token the ids of project, contact and mail end, and the signature; in bytes. */
const ENDS = [16, 32, 48, 64]

async function start() {
  const service = await startService({ ROLES: 'http' })
  const project = await service.newProject()
  const all = [
    await newsletter(service, 'one@example.org'),
    await newsletter(service, 'one@example.org'),
    await newsletter(service, 'two@example.org'),
    await newsletter(service, 'one@example.org', { project }),
  ]
  return { ...service, all }
}

const bytesOf = (token: string) => Buffer.from(token, 'base64url')

/** Bytes of the one token with those parts of the other that the mask names. */
function crossed(one: Buffer, other: Buffer, mask: number): Buffer {
  const parts = ENDS.map((end, part) => (mask & (1 << part) ? other : one).subarray(end - 16, end))
  return Buffer.concat(parts)
}

scenario('A link that was tampered with', start, (test) => {
  /** It is nobody's link by any door, and changes nothing. */
  const assertDead = async (service: Awaited<ReturnType<typeof start>>, token: string) => {
    assert.is((await service.call('GET', `/manage/${token}`)).status, 404, token)
    assert.is((await oneClick(service, token)).status, 404, token)
    assert.is((await subscribeAgain(service, token)).status, 404, token)
  }

  const assertUntouched = async (service: Awaited<ReturnType<typeof start>>) => {
    for (const { contact } of service.all) {
      assert.is(await isSubscribed(service, contact.id), true)
      assert.equal(await eventsOf(service, contact.id), [])
    }
  }

  test('is dead when its parts are of several links', async (service) => {
    const known = new Set(service.all.map(({ token }) => token))
    for (const { token: one } of service.all) {
      for (const { token: other } of service.all) {
        for (let mask = 1; mask < 15; mask += 1) {
          const token = crossed(bytesOf(one), bytesOf(other), mask).toString('base64url')
          if (!known.has(token)) await assertDead(service, token)
        }
      }
    }
    await assertUntouched(service)
  })

  test('is dead when any of its bytes are others', async (service) => {
    const tokens = service.all.map(({ token }) => token)
    const change = fc.record({
      token: fc.constantFrom(...tokens),
      bytes: fc.array(fc.tuple(fc.nat(63), fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 4 }),
    })
    const property = fc.asyncProperty(change, async ({ token, bytes }) => {
      const changed = bytesOf(token)
      for (const [place, bits] of bytes) changed[place] = (changed[place] ?? 0) ^ bits
      const text = changed.toString('base64url')
      if (!tokens.includes(text)) await assertDead(service, text)
    })
    await fc.assert(property, { numRuns: 60 })
    await assertUntouched(service)
  })

  test('is dead when characters are added, taken away or written otherwise', async (service) => {
    const { token } = service.all[0] ?? { token: '' }
    const place = fc.nat(token.length)
    const text = fc.oneof(
      fc
        .tuple(place, fc.stringMatching(/^[\w-]{1,4}$/))
        .map(([at, more]) => token.slice(0, at) + more + token.slice(at)),
      fc
        .tuple(place, fc.integer({ min: 1, max: 9 }))
        .map(([at, count]) => token.slice(0, at) + token.slice(at + count)),
      fc.constantFrom('%2B', '%2F', '=', '%20', '.', '~').map((sign) => `${token}${sign}`),
    )
    const property = fc.asyncProperty(text, async (changed) => {
      if (changed !== token && changed !== '') await assertDead(service, changed)
    })
    await fc.assert(property, { numRuns: 60 })
    await assertUntouched(service)
  })
})
