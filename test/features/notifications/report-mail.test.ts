import * as assert from 'uvu/assert'
import { takeReport } from '../../../src/features/notifications/report-mail.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { applied, fateOf, type Left, left } from './notification-support.ts'

/** As Postfix writes it. */
const dsn = (
  mail: Left,
  { action = 'failed', status = '5.1.1', messageId = mail.messageId } = {},
) => `From: MAILER-DAEMON@mx.example
To: bounces@sender.example
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="B"

--B
Content-Description: Notification
Content-Type: text/plain; charset=us-ascii

This is the mail system at host mx.example.

--B
Content-Description: Delivery report
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example
Arrival-Date: Fri,  2 Jan 2026 03:04:05 +0000 (UTC)

Final-Recipient: rfc822; ${mail.to}
Original-Recipient: rfc822;${mail.to}
Action: ${action}
Status: ${status}
Diagnostic-Code: smtp; 550 5.1.1 <${mail.to}>: Recipient address
    rejected

--B
Content-Type: message/rfc822

Message-ID: ${messageId}
From: news@sender.example
Subject: Hello

Body
--B--
`

/** The example of RFC 5965, appendix B.1, about another message. */
const arf = (mail: Left, type = 'abuse') => `From: <abusedesk@example.com>
To: <abuse@example.net>
Subject: FW: Earn money
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="part1_13d.2e68ed54_boundary"

--part1_13d.2e68ed54_boundary
Content-Type: text/plain; charset="US-ASCII"
Content-Transfer-Encoding: 7bit

This is an email abuse report.

--part1_13d.2e68ed54_boundary
Content-Type: message/feedback-report

Feedback-Type: ${type}
User-Agent: SomeGenerator/1.0
Version: 1
Original-Rcpt-To: <${mail.to}>

--part1_13d.2e68ed54_boundary
Content-Type: text/rfc822-headers
Content-Disposition: inline

From: <somespammer@example.net>
Message-ID: ${mail.messageId}
Subject: Earn money

--part1_13d.2e68ed54_boundary--
`

scenario(
  'Notices that come as mail',
  () => startService({ ROLES: 'http' }),
  (test) => {
    const take = async (service: Service, text: string, recipient = `bounces@${service.project.domain}`) => {
      const raw = Buffer.from(text.replaceAll('\n', '\r\n'))
      const kind = text.includes('feedback-report')
        ? ('feedback-report' as const)
        : ('delivery-status' as const)
      const projectId = service.project.id
      const isTaken = await takeReport(service.ctx(projectId), { kind, raw, projectId, recipient })
      await applied(service)
      return isTaken
    }
    const newMail = (service: Service) => left(service, `notice${Math.random()}@example.org`)

    test('of servers that could not, or could, deliver', async (service) => {
      const cases = [
        [{}, 'BOUNCED', false],
        [{ status: '5.2.2' }, 'SENT', true],
        [{ status: '4.4.7' }, 'SENT', true],
        [{ action: 'delayed', status: '4.4.1' }, 'SENT', false],
        [{ action: 'delivered', status: '2.0.0' }, 'DELIVERED', false],
      ] as const
      for (const [options, status, softly] of cases) {
        const mail = await newMail(service)
        const isTaken = await take(service, dsn(mail, options))
        const fate = await fateOf(service, mail)
        assert.equal([fate.status, fate.softly], [status, softly])
        assert.is(isTaken, !('action' in options && options.action === 'delayed'))
        if (status === 'BOUNCED') {
          assert.equal([fate.subscribed, fate.suppressed], [false, 'BOUNCE'])
          assert.match(fate.error, `550 5.1.1 <${mail.to}>: Recipient address rejected`)
        }
      }
    })

    test('of readers who complain', async (service) => {
      for (const [type, status] of [
        ['abuse', 'COMPLAINED'],
        ['not-spam', 'SENT'],
        ['auth-failure', 'SENT'],
      ] as const) {
        const mail = await newMail(service)
        assert.is(await take(service, arf(mail, type)), status === 'COMPLAINED')
        assert.is((await fateOf(service, mail)).status, status)
      }
    })

    test('name the message by the address that they come to', async (service) => {
      const mail = await newMail(service)
      const text = dsn(mail, { messageId: '<another@mx.example>' })
      assert.is(await take(service, text), false)
      assert.is(await take(service, text, `bounce+${mail.id}@${service.project.domain}`), true)
      assert.is((await fateOf(service, mail)).status, 'BOUNCED')
    })

    test('about mail of others, or malformed, change nothing', async (service) => {
      const mail = await newMail(service)
      const other = await service.newProject()
      const raw = Buffer.from(dsn(mail))
      const ofOther = {
        kind: 'delivery-status' as const,
        raw,
        projectId: other.id,
        recipient: `a@${other.domain}`,
      }
      assert.is(await takeReport(service.ctx(other.id), ofOther), false)
      const whole = dsn(mail)
      for (const text of [
        '',
        'x',
        whole.slice(0, 700),
        whole.replaceAll('--B', '--C'),
        `${'a: b\n'.repeat(90_000)}\n`,
      ]) {
        assert.is(await take(service, text), false)
      }
      assert.is((await fateOf(service, mail)).status, 'SENT')
    })
  },
)
