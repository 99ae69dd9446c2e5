import { setTimeout as pause } from 'node:timers/promises'
import { startMailgunApi } from '../../support/mailgun-api.ts'
import { query } from '../../support/query.ts'
import { ownPort } from '../../support/service-process.ts'
import type { Attack } from '../define-attack.ts'

const CONTACTS = 1_500
/** Of one contact, about the most that its data may hold. */
const CHARACTERS = 60_000

const port = await ownPort()

/** A campaign whose messages have next to nothing in common: what is each recipient's own is all of the data. */
export const mailgunValues: Attack = {
  name: 'a campaign by Mailgun that shows 60 KB of each contact',
  before: 'calls of 1,000 recipients would be 120 MB each',
  env: { MAIL_PROVIDER: 'mailgun', MAILGUN_API_KEY: 'key-s3cret', MAILGUN_URL: `http://127.0.0.1:${port}` },
  run: async ({ url, databaseUrl, unlimited, signal }) => {
    const taken = { calls: 0, campaign: 0 }
    const api = await startMailgunApi({
      port,
      keeps: false,
      answer: (to) => {
        taken.calls += 1
        taken.campaign += to.filter((address) => address.startsWith('large')).length
        return undefined
      },
    })
    try {
      await query(
        databaseUrl,
        `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
         select $1, gen_random_uuid(), 'large' || n || '@example.org', true,
           jsonb_build_object('story', left(repeat('story ' || n || ' ', $2::int), $2::int)), now(), now()
         from generate_series(1, $3::int) as n`,
        [unlimited.id, CHARACTERS, CONTACTS],
      )
      const post = async (path: string, body: object) => {
        const headers = { authorization: `Bearer ${unlimited.secret}`, 'content-type': 'application/json' }
        const answer = await fetch(`${url}${path}`, {
          method: 'POST',
          headers,
          body: JSON.stringify(body),
          signal,
        })
        return answer.json()
      }
      const { data } = await post('/campaigns', {
        name: 'Large',
        subject: 'Large',
        body: '<p>Here is all that we know of you, word by word: {{story}}</p>',
        from: `a@${unlimited.domain}`,
        audienceType: 'ALL',
      })
      await post(`/campaigns/${data.id}/send`, {})
      while (taken.campaign < CONTACTS && !signal.aborted) await pause(100)
      return `${taken.campaign} of ${CONTACTS} messages left, ${taken.calls} calls`
    } finally {
      await api.stop()
    }
  },
}
