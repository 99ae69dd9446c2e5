import * as assert from 'uvu/assert'
import { deriveKey, sign } from '../../../src/lib/secrets.ts'
import { databaseProxy } from '../../support/database-proxy.ts'
import { sendMail } from '../../support/mailing.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService, until } from '../../support/service.ts'
import { withoutTrace } from '../sending/send-support.ts'
import {
  ask,
  bodyOf,
  mailed,
  PERSON,
  recorded,
  setTracking,
  startTracking,
  trackedIn,
  waitingHits,
} from './tracking-support.ts'

const BROWSER = { accept: 'text/html', 'user-agent': PERSON }

/** The token with one character replaced. */
const changedAt = (path: string, index: number) =>
  `${path.slice(0, index)}${path[index] === 'A' ? 'B' : 'A'}${path.slice(index + 1)}`

/** A message that is accepted, without waiting for it to leave. */
async function tracked(service: Service, to: string, body = '<a href="https://shop.example/a">A</a>') {
  const id = await sendMail(service, to, { body })
  return { id, ...trackedIn(service, await bodyOf(service, id)) }
}

const answerOf = async ({ call }: Service, name: string) => {
  const { text } = await call('GET', '/metrics')
  return (kind: string, outcome: string) =>
    Number(new RegExp(`^${name}\\{kind="${kind}",outcome="${outcome}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
}

scenario(
  'Tracked links',
  () => startTracking({ ROLES: 'http' }),
  (test) => {
    test('lead nowhere by themselves when they were changed, but say where they would', async (service) => {
      const { links } = await tracked(service, 'forged@example.org')
      const [link = ''] = links
      const [path = '', query] = link.split('?')
      const tokens = [
        ...[7, 30, 60, 64, path.length - 1].map((index) => changedAt(path, index)),
        path.slice(0, -1),
        `${path}A`,
        path.toUpperCase().replace('/T/C/', '/t/c/'),
        '/t/c/x',
        `/t/c/${'A'.repeat(66)}`,
      ]
      const forged = [
        ...tokens.map((token) => `${token}?${query}`),
        `${path}?u=${encodeURIComponent('https://shop.example/ab')}`,
        `${path}?u=https://evil.example/`,
        `${path}?u=${encodeURIComponent('https://shop.example@evil.example/')}`,
      ]
      for (const wrong of forged) {
        const answer = await withoutTrace(service, () => ask(service, wrong, BROWSER))
        assert.is(answer.status, 404, wrong)
        assert.is(answer.headers.get('location'), null)
        const target = new URL(new URLSearchParams(wrong.split('?')[1]).get('u') ?? '')
        assert.match(answer.text, `<strong>${target.host}</strong>`)
        assert.match(answer.text, `<code>${target.href}</code>`)
        assert.match(answer.text, `href="${target.href}"`)
        assert.not.match(answer.text, /http-equiv|<script/i)
      }
    })

    test('never lead to what is no web page', async (service) => {
      const { links } = await tracked(service, 'scheme@example.org')
      const [path = ''] = (links[0] ?? '').split('?')
      const key = deriveKey(service.app.config.encryptionSecret, 'mailwright tracked links')
      for (const target of [
        'javascript:alert(1)',
        'data:text/html,x',
        '//evil.example',
        '/x',
        '',
        `https://a.example/${'x'.repeat(3_000)}`,
      ]) {
        const mail = Buffer.from(path.slice('/t/c/'.length), 'base64url').subarray(0, 33)
        const signature = sign(key, Buffer.concat([mail, Buffer.from(target)]), 16)
        const own = Buffer.concat([mail, signature]).toString('base64url')
        for (const token of [path, `/t/c/${own}`, '/t/c', '/t/c/']) {
          const answer = await ask(service, `${token}?u=${encodeURIComponent(target)}`, BROWSER)
          assert.is(answer.status, 404, target)
          assert.match(answer.text, 'This link does not work.')
          assert.not.match(answer.text, 'href="javascript')
        }
      }
      assert.is((await ask(service, path, BROWSER)).status, 404)
    })

    test('show markup in an address as text', async (service) => {
      const target = `https://evil.example/"><script>alert(1)</script>`
      const { text } = await ask(service, `/t/c/x?u=${encodeURIComponent(target)}`, BROWSER)
      assert.not.match(text, '<script>alert')
      assert.match(text, 'https://evil.example/%22%3E%3Cscript%3Ealert(1)%3C/script%3E')
    })

    test('work when something has been added to them', async (service) => {
      const { links } = await tracked(service, 'added@example.org')
      const answer = await ask(service, `${links[0]}&utm_source=x`)
      assert.is(answer.headers.get('location'), 'https://shop.example/a')
    })

    test('lead to addresses as browsers write them', async (service) => {
      const body =
        '<a href="https://münchen.example/ä b?q=ü\'#ö">x</a><a href="https://a.example/&#13;&#10;Set-Cookie:x">y</a>'
      const { links } = await tracked(service, 'letters@example.org', body)
      const [first, second] = await Promise.all(links.map((link) => ask(service, link)))
      assert.is(
        first?.headers.get('location'),
        'https://xn--mnchen-3ya.example/%C3%A4%20b?q=%C3%BC%27#%C3%B6',
      )
      assert.is(second?.headers.get('location'), 'https://a.example/Set-Cookie:x')
      assert.is(second?.headers.get('set-cookie'), null)
    })

    test('of a pixel that was changed answer with the image all the same', async (service) => {
      const { pixel, links } = await tracked(service, 'pixel@example.org')
      const [token = ''] = (links[0] ?? '').split('?')
      const wrong = [
        changedAt(pixel, 20),
        '/t/o/x',
        pixel.replace('/t/o/', '/t/o/A'),
        token.replace('/t/c/', '/t/o/'),
      ]
      for (const path of wrong) {
        const answer = await withoutTrace(service, () => ask(service, path))
        assert.equal([answer.status, answer.headers.get('content-type')], [200, 'image/gif'])
      }
      assert.is((await ask(service, pixel.replace('.gif', ''))).status, 200)
    })

    test('of one message are noted up to a limit while they wait to be counted', async (service) => {
      const { id, pixel, links } = await tracked(service, 'flood@example.org')
      for (let round = 0; round < 13; round += 1) {
        await Promise.all(
          [pixel, ...links].flatMap((path) => Array.from({ length: 5 }, () => ask(service, path))),
        )
      }
      const waiting = (await waitingHits(service, id)).length
      assert.ok(waiting >= 100 && waiting < 115, `${waiting} wait`)
      const count = await answerOf(service, 'mailwright_tracking_hits_total')
      assert.is(count('open', 'refused') + count('click', 'refused'), 130 - waiting)
      assert.ok(count('open', 'stored') > 0)
      assert.is((await ask(service, links[0] ?? '')).status, 302)
    })

    test('keep no trace of who it was', async (service) => {
      const { id, pixel } = await tracked(service, 'privacy@example.org')
      await ask(service, pixel, { 'user-agent': 'Tell-Tale/1.0', 'x-forwarded-for': '192.0.2.77' })
      const rows = JSON.stringify(await waitingHits(service, id))
      for (const trace of ['Tell-Tale', '192.0.2', '127.0.0.1']) assert.not.match(rows, trace)
    })
  },
)

scenario('A message that is opened very often', startTracking, (test) => {
  test('has so many events and no more', async (service) => {
    const mail = await mailed(service, 'often@example.org')
    await service.sql('update emails set hits = 998, opens = 998 where id = $1', [mail.id])
    for (let times = 0; times < 5; times += 1) await ask(service, mail.pixel)
    const { row } = await recorded(service, mail.id, 2)
    assert.equal([row.hits, row.opens], [1_000, 1_000])
    await until('nothing waits', async () => (await waitingHits(service, mail.id)).length === 0)
    await ask(service, mail.links[0] ?? '', { 'user-agent': '' })
    service.clock.advance(10_000)
    await until('nothing waits', async () => (await waitingHits(service, mail.id)).length === 0)
    await recorded(service, mail.id, 2)
  })
})

async function startBehindProxy() {
  const proxy = await databaseProxy(process.env.TEST_SERVICE_URL ?? '')
  const service = await startService({ ROLES: 'http' }, { reach: proxy.through })
  await setTracking(service, service.project, 'ENABLED')
  const stop = async () => {
    await service.stop()
    await proxy.stop()
  }
  return { ...service, proxy, stop }
}

scenario('While the database is away', startBehindProxy, (test) => {
  for (const how of ['cut', 'stall'] as const) {
    test(`links lead on all the same, and what is lost is counted (${how})`, async ({
      proxy,
      ...service
    }) => {
      const { pixel, links } = await tracked(service, `away-${how}@example.org`)
      const before = (await answerOf(service, 'mailwright_tracking_hits_total'))('open', 'lost')
      await proxy[how]()
      try {
        assert.is((await ask(service, links[0] ?? '')).headers.get('location'), 'https://shop.example/a')
        assert.is((await ask(service, pixel)).headers.get('content-type'), 'image/gif')
      } finally {
        await proxy.mend()
      }
      await until('it is counted', async () => {
        const count = await answerOf(service, 'mailwright_tracking_hits_total')
        return count('open', 'lost') > before
      })
    })
  }
})
