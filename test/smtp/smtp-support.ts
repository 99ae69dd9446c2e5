import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createTransport } from 'nodemailer'
import { generate } from 'selfsigned'
import { type Service, startService } from '../support/service.ts'

export type Door = Service & { ports: { submission: number; tls: number; inbound: number } }

/** A service with all SMTP ports, and a certificate that it has signed itself. */
export async function startDoor(env: Record<string, string> = {}): Promise<Door> {
  const folder = mkdtempSync(path.join(tmpdir(), 'mailwright-certificate-'))
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keySize: 2048,
  })
  const files = { cert: path.join(folder, 'cert.pem'), key: path.join(folder, 'key.pem') }
  writeFileSync(files.cert, cert)
  writeFileSync(files.key, key)
  const service = await startService({
    ROLES: 'http,worker,smtp',
    SMTP_DOOR_PORT: '0',
    SMTP_DOOR_TLS_PORT: '0',
    SMTP_DOOR_INBOUND_PORT: '0',
    SMTP_DOOR_CERT_FILE: files.cert,
    SMTP_DOOR_KEY_FILE: files.key,
    ...env,
  })
  const { submission, tls, inbound } = service.app.config.smtpDoor?.ports ?? {}
  return { ...service, ports: { submission: submission ?? 0, tls: tls ?? 0, inbound: inbound ?? 0 } }
}

/** Hands in mail as nodemailer does, with a key. */
export const mailerOf = ({ ports, project }: Door, { key = project.secret, overTls = false } = {}) =>
  createTransport({
    host: '127.0.0.1',
    port: overTls ? ports.tls : ports.submission,
    secure: overTls,
    requireTLS: !overTls,
    tls: { rejectUnauthorized: false },
    auth: { user: 'mailwright', pass: key },
  })
