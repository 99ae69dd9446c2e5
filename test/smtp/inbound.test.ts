import * as assert from 'uvu/assert'
import { receiveMail } from '../../src/features/inbound/receive-mail.ts'
import { emailEvents, emailRow, sendMail } from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { talk } from '../support/smtp-talk.ts'
import { type Door, startDoor } from './smtp-support.ts'

/** Hands in a message as another mail server does, and returns its last answer. */
async function arrive({ ports }: Door, to: string[], lines: string[], from = 'ann@customer.example') {
  const server = await talk(ports.inbound)
  await server.ask('EHLO mx.customer.example')
  const answer = await server.send(from, to, lines.join('\r\n'))
  server.close()
  return answer
}

const received = ({ sql }: Door, projectId: string) =>
  sql(`select * from emails where project_id = $1 and status = 'RECEIVED' order by id`, [projectId])

const LETTER = [
  'From: Ann Smith <Ann@Customer.example>',
  'Subject: =?utf-8?q?Frage_zu_=E2=82=AC?=',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary="b"',
  '',
  '--b',
  'Content-Type: text/html; charset=utf-8',
  '',
  '<p onclick="x()">Hi <b>you</b></p><script>alert(1)</script><img src="https://spy.example/p.gif">',
  '<img src="cid:a"><a href="javascript:x()">bad</a><a href="https://ok.example/">good</a>',
  '<style>@import url(https://spy.example)</style><form action="https://spy.example"><input></form>',
  '--b',
  'Content-Type: application/pdf; name="q.pdf"',
  'Content-Disposition: attachment; filename="q.pdf"',
  'Content-Transfer-Encoding: base64',
  '',
  'AAECAwQ=',
  '--b--',
]

scenario('Inbound mail', startDoor, (test) => {
  test('becomes an email of its sender, and an event', async (door) => {
    const { project, as } = door
    const to = `support@${project.domain}`
    const answered = await sendMail(door, 'ann@customer.example')
    const answer = await arrive(
      door,
      [to],
      [
        `To: Support <${to}>`,
        'Message-ID: <first@customer.example>',
        `In-Reply-To: <${answered}@${project.domain}>`,
        'References: <other@x.example>',
        ...LETTER,
      ],
    )
    assert.match(answer, /^250 2\.0\.0 Received/)
    const [row] = await received(door, project.id)
    assert.is(row?.from, 'ann@customer.example')
    assert.is(row?.from_name, 'Ann Smith')
    assert.is(row?.to_email, to)
    assert.is(row?.source_type, 'INBOUND')
    assert.is(row?.subject, 'Frage zu €')
    assert.is(row?.answers_id, answered)
    assert.is(row?.contact_id, (await emailRow(door, answered)).contact_id)

    const query = `query ($id: ID!) { email(id: $id) {
      status sourceType answersId body attachments { filename contentType size } } }`
    const shown = (await as().graphql(query, { id: row?.id })).body.data.email
    assert.equal(shown.attachments, [{ filename: 'q.pdf', contentType: 'application/pdf', size: 5 }])
    assert.is(shown.status, 'RECEIVED')
    assert.is(shown.answersId, answered)
    for (const part of ['<p>Hi <b>you</b></p>', 'cid:a', 'https://ok.example/'])
      assert.ok(shown.body.includes(part), part)
    for (const part of ['script', 'spy.example', 'onclick', 'javascript', 'form']) {
      assert.not.ok(shown.body.includes(part), part)
    }

    const [event] = await emailEvents(door, row?.id)
    assert.is(event.name, 'email.received')
    assert.is(event.data.from, 'ann@customer.example')
    assert.is(event.data.to, to)
    assert.is(event.data.subject, 'Frage zu €')
    assert.match(event.data.body, 'Hi you')
    assert.is(event.data.answersEmailId, answered)
    assert.is(event.data.attachments[0].filename, 'q.pdf')
    const { body } = await as().get(`/events?eventName=email.received`)
    assert.is(body.data.length, 1)
  })

  test('subscribes nobody, and is kept once however often it is handed over', async (door) => {
    const project = await door.newProject()
    const to = `box@${project.domain}`
    const lines = [
      'From: new@customer.example',
      'Message-ID: <again@customer.example>',
      'Subject: x',
      '',
      'Hello',
    ]
    for (let time = 0; time < 2; time += 1) assert.match(await arrive(door, [to], lines), /^250/)
    assert.is(
      await receiveMail(door.ctx(), {
        raw: Buffer.from(lines.join('\r\n')),
        sender: 'a@b.co',
        recipients: [to],
      }),
      0,
    )
    assert.is((await received(door, project.id)).length, 1)
    const [contact] = await door.sql('select * from contacts where project_id = $1', [project.id])
    assert.is(contact?.email, 'new@customer.example')
    assert.is(contact?.subscribed, false)
  })

  test('comes for verified domains only, one project after the other', async (door) => {
    const one = await door.newProject()
    const two = await door.newProject()
    await door.sql(`update domains set status = 'PENDING' where project_id = $1`, [two.id])
    const lines = ['From: a@customer.example', 'Subject: x', '', 'Hello']
    for (const to of ['a@elsewhere.example', `a@sub.${one.domain}`, `a@${two.domain}`]) {
      assert.match(await arrive(door, [to], lines), /^550 5\.7\.1 Relay access denied/)
    }
    assert.match(await arrive(door, ['a@nowhere'], lines), /^553 5\.1\.3/)
    await door.sql(`update domains set status = 'VERIFIED' where project_id = $1`, [two.id])
    assert.match(await arrive(door, [`a@${one.domain}`, `b@${one.domain}`, `c@${two.domain}`], lines), /^250/)
    assert.is((await received(door, one.id)).length, 2)
    assert.is((await received(door, two.id)).length, 1)
    const server = await talk(door.ports.inbound)
    assert.not.match(await server.ask('EHLO x.example'), 'AUTH')
    server.close()
  })

  test('starts nothing when no person wrote it', async (door) => {
    const project = await door.newProject()
    const to = [`box@${project.domain}`]
    const base = ['From: robot@customer.example', 'Subject: x']
    await arrive(door, to, [...base, 'Auto-Submitted: auto-replied', '', 'I am away'])
    await arrive(door, to, [...base, 'Precedence: bulk', '', 'News'])
    await arrive(door, to, [...base, '', 'It bounced'], '')
    await arrive(door, to, [
      ...base,
      'Message-ID: <01890000-0000-7000-8000-000000000001@other.example>',
      '',
      'x',
    ])
    await arrive(door, to, [
      ...base,
      'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
      '',
      '--b--',
    ])
    assert.is((await received(door, project.id)).length, 5)
    assert.is((await door.sql('select 1 from events where project_id = $1', [project.id])).length, 0)
    await arrive(door, to, [...base, 'Auto-Submitted: no', '', 'I wrote this'])
    assert.is((await door.sql('select 1 from events where project_id = $1', [project.id])).length, 1)
  })
})
