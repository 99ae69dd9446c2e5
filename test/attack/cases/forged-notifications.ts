import { randomUUID } from 'node:crypto'
import { query } from '../../support/query.ts'
import type { Attack } from '../define-attack.ts'

const LASTING_MS = 15_000
const AT_ONCE = 64

/** Bodies as large as they may be, as Mailgun and Amazon SNS send them, but for the signature. */
const BODIES = [
  ['/webhooks/mailgun', { signature: { timestamp: '1', token: randomUUID(), signature: 'ab'.repeat(32) } }],
  [
    '/webhooks/sns',
    {
      ...{
        Type: 'Notification',
        MessageId: randomUUID(),
        TopicArn: 'arn:aws:sns:eu-west-1:123456789012:mail',
      },
      ...{ Message: '{}', Timestamp: new Date().toISOString(), SignatureVersion: '2', Signature: 'abcd' },
      SigningCertURL: 'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0.pem',
    },
  ],
] as const

/** A stranger tells of bounces without end. */
export const forgedNotifications: Attack = {
  name: 'large forged notifications of mail providers without end',
  before: 'each of them would be read and parsed, and their bodies would fill the memory',
  run: async ({ url, databaseUrl, signal }) => {
    const until = performance.now() + LASTING_MS
    const answers = new Map<number, number>()
    const padding = 'x'.repeat(280 * 1024)
    const ask = async (index: number) => {
      for (let next = index; performance.now() < until && !signal.aborted; next += 1) {
        const [path, body] = BODIES[next % 2 === 0 ? 0 : 1]
        const headers = { 'content-type': 'application/json' }
        const options = { method: 'POST', headers, body: JSON.stringify({ ...body, padding }), signal }
        const answer = await fetch(`${url}${path}`, options).catch(() => null)
        await answer?.arrayBuffer().catch(() => null)
        if (answer) answers.set(answer.status, (answers.get(answer.status) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => ask(index)))
    const [row] = await query<{ rows: number }>(
      databaseUrl,
      `select ((select count(*) from notification_receipts) + (select count(*) from mail_reports)
         + (select count(*) from unmatched_reports))::int as rows`,
    )
    if (row?.rows !== 0 || answers.has(200))
      throw new Error(`${row?.rows} rows, ${answers.get(200)} accepted`)
    return [...answers].map(([status, count]) => `${count} × ${status}`).join(', ')
  },
}
