import * as assert from 'uvu/assert'
import { foldMail, MAX_HITS_OF_MAIL } from '../../../src/features/tracking/fold.rules.ts'
import { type Hit, isMachineRequest, judgeHits } from '../../../src/features/tracking/machines.rules.ts'
import { newId } from '../../../src/lib/ids.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'

const PERSONS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
  'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Thunderbird/133.0',
  'Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17328; Pro)',
  'Mozilla/4.0 (compatible; ms-office; MSOffice 16)',
  'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
  'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/90.0 Safari/537.36 Edge/12.246',
]

const MACHINES = [
  '',
  '  ',
  'Mozilla/5.0',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 Safari/537.36 Edge/12.246 Mozilla/5.0',
  'Barracuda Sentinel (EE)',
  'Mozilla/5.0 (compatible; Mimecast-URL-Scanner)',
  'Proofpoint-URL-Defense/1.0',
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0',
  'Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/534+ (KHTML, like Gecko) BingPreview/1.0b',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0 Safari/537.36',
  'curl/8.5.0',
  'python-requests/2.31.0',
  'Go-http-client/1.1',
  'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
  'facebookexternalhit/1.1',
  'Java/17.0.2',
]

scenario('Requests of machines', nothingShared, (test) => {
  for (const name of PERSONS) {
    test(`are not: ${name}`, () => assert.is(isMachineRequest({ 'user-agent': name }), false))
  }
  for (const name of MACHINES) {
    test(`are: ${name}`, () => assert.is(isMachineRequest({ 'user-agent': name }), true))
  }

  test('are those that are sent ahead, and those without a name', () => {
    const [person = ''] = PERSONS
    for (const headers of [
      { 'sec-purpose': 'prefetch' },
      { 'sec-purpose': 'prefetch;prerender' },
      { purpose: 'prefetch' },
      { 'x-purpose': 'preview' },
      { 'x-moz': 'prefetch' },
    ]) {
      assert.is(isMachineRequest({ 'user-agent': person, ...headers }), true, JSON.stringify(headers))
    }
    assert.is(isMachineRequest({}), true)
    assert.is(isMachineRequest({ 'user-agent': person, purpose: 'fun' }), false)
  })
})

const SENT = Date.UTC(2026, 0, 1)

/** An open, or a click on a link, so many milliseconds after the message was sent, which has `links` links. */
const hit = (after: number, link: string | null = null, links = 4): Hit => ({
  ...{ at: SENT + after, link, links, machine: false },
})

const judged = (...hits: Hit[]) => judgeHits(hits, SENT)

scenario('Hits of machines', nothingShared, (test) => {
  test('are those that come at once, or before the message has left', () => {
    assert.equal(judged(hit(-1), hit(1_999), hit(2_000)), [true, true, false])
    assert.equal(judgeHits([hit(60_000)], null), [true])
  })

  test('are those of requests that say so', () => {
    assert.equal(judged({ ...hit(60_000), machine: true }, hit(60_001)), [true, false])
  })

  test('are clicks on two links at the same moment, and the open with them', () => {
    const hits = [hit(9_500), hit(10_000, 'a'), hit(10_900, 'b'), hit(12_000), hit(20_000, 'a')]
    assert.equal(judged(...hits), [true, true, true, false, false])
  })

  test('are not clicks on one link again and again', () => {
    assert.equal(judged(hit(10_000, 'a'), hit(10_100, 'a'), hit(10_200, 'a')), [false, false, false])
    assert.equal(judged(hit(10_000, 'a', 1)), [false])
  })

  test('are clicks on every link within seconds', () => {
    const three = [hit(10_000, 'a', 3), hit(12_000, 'b', 3), hit(14_000, 'c', 3)]
    assert.equal(judged(...three), [true, true, true])
    assert.equal(judged(...three.map((one) => ({ ...one, links: 4 }))), [false, false, false])
    assert.equal(judged(hit(10_000, 'a', 3), hit(13_000, 'b', 3), hit(16_000, 'c', 3)), [false, true, false])
    assert.equal(judged(hit(10_000, 'a', 2), hit(12_000, 'b', 2)), [false, false])
  })
})

const now = new Date(SENT + 3_600_000)

const row = (after: number, link: string | null = null, machine = false) => ({
  ...{ emailId: 'e', id: newId(new Date(SENT + after)), link, links: 4, machine },
})

const MAIL = { id: 'e', sentAt: new Date(SENT), opens: 0, clicks: 0, hits: 0 }

scenario('What hits of a message come to', nothingShared, (test) => {
  const dataOf = ({ events }: ReturnType<typeof foldMail>) => events.map(({ data }) => JSON.parse(data))

  test('is counted by persons, and told of all', () => {
    const rows = [row(60_000, null, true), row(61_000), row(70_000, 'a'), row(80_000), row(90_000, 'b')]
    const folded = foldMail(MAIL, rows, now)
    assert.equal([folded.opens, folded.clicks, folded.hits], [2, 2, 5])
    assert.equal([folded.openedAt?.getTime(), folded.clickedAt?.getTime()], [SENT + 61_000, SENT + 70_000])
    assert.equal(dataOf(folded), [
      { isFirst: false, bot: true },
      { isFirst: true },
      { link: 'a', isFirst: true },
      { isFirst: false },
      { link: 'b', isFirst: false },
    ])
    assert.equal(
      folded.events.map(({ at }) => at.getTime() - SENT),
      [60_000, 61_000, 70_000, 80_000, 90_000],
    )
  })

  test('is no first one when there was one before', () => {
    const folded = foldMail({ ...MAIL, opens: 1, hits: 3 }, [row(60_000), row(61_000, 'a')], now)
    assert.equal(
      dataOf(folded).map(({ isFirst }) => isFirst),
      [false, true],
    )
  })

  test('is dated a day later than it was at most', () => {
    const late = new Date(SENT + 10 * 24 * 3_600_000)
    const [event] = foldMail(MAIL, [row(60_000)], late).events
    assert.is(event?.at.getTime(), late.getTime() - 24 * 3_600_000)
  })

  test('ends with the most that is recorded of a message', () => {
    const folded = foldMail({ ...MAIL, hits: MAX_HITS_OF_MAIL - 1 }, [row(60_000), row(61_000)], now)
    assert.equal([folded.hits, folded.opens, folded.events.length], [1, 1, 1])
    assert.is(foldMail({ ...MAIL, hits: MAX_HITS_OF_MAIL }, [row(60_000)], now).events.length, 0)
  })
})
