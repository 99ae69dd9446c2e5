import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import * as assert from 'uvu/assert'
import { banner } from '../../src/bin/banner.ts'
import { loadConfig } from '../../src/config.ts'
import { scenario } from '../support/scenario.ts'

/** In a directory of its own, because development keeps a secret in DATA_DIR. */
function start() {
  const directory = mkdtempSync(path.join(tmpdir(), 'mailwright-banner-'))
  return {
    textOf: (env: Record<string, string>, hasProject = true) =>
      banner(loadConfig({ DATA_DIR: directory, ...env }), { demo: null, hasProject }, 1),
    stop: () => rmSync(directory, { recursive: true, force: true }),
  }
}

scenario('The text of a start', start, (test) => {
  test('leads to the mailbox by an address at which it opens', ({ textOf }) => {
    for (const [host, address] of [
      ['127.0.0.1', '127.0.0.1'],
      ['localhost', 'localhost'],
      ['::1', '[::1]'],
      ['0.0.0.0', '127.0.0.1'],
      ['::', '127.0.0.1'],
    ] as const) {
      assert.match(
        textOf({ HOST: host }),
        `Mail       stays here, in the mailbox: http://${address}:4000/mailbox\n`,
      )
    }
    for (const host of ['192.168.1.5', 'fe80::1', 'mail.example']) {
      const text = textOf({ HOST: host })
      assert.match(text, 'its page opens with HOST=127.0.0.1, or 0.0.0.0 for all addresses\n')
      assert.not.match(text, '/mailbox')
    }
    assert.not.match(textOf({ ROLES: 'worker' }), 'http://')
  })

  test('says through whom mail leaves, without passwords, and that its links lead nowhere yet', ({
    textOf,
  }) => {
    const text = textOf({ SMTP_URL: 'smtp://user:secret-word@smtp.example:587' })
    assert.match(text, 'Mail       leaves by SMTP, through smtp.example:587\n')
    assert.not.match(text, 'secret-word')
    assert.match(text, /API_URL is not set: links in mail that leaves lead to http:\/\/127\.0\.0\.1:4000, /)
    assert.match(textOf({ MAILGUN_API_KEY: 'k' }), 'leaves by Mailgun, through https://api.mailgun.net')
    assert.not.match(textOf({ SMTP_URL: 'smtp://smtp.example', API_URL: 'https://mail.example' }), 'API_URL')
    assert.not.match(textOf({}), 'API_URL')
  })

  test('says how to get keys, or to create a project first', ({ textOf }) => {
    assert.match(
      textOf({}),
      'Keys       npm run -s cli -- project create --name NAME, or project rotate-keys',
    )
    assert.match(
      textOf({}, false),
      'There is no project yet. Create one, with its keys: npm run -s cli -- project create',
    )
  })
})
