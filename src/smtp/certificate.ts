import { readFileSync, statSync } from 'node:fs'
import type { Logger } from 'pino'
import type { SMTPServer } from 'smtp-server'
import type { SmtpDoorConfig } from '../config.ts'
import { OperatorError } from '../lib/operator-error.ts'

type Files = NonNullable<SmtpDoorConfig['certificate']>

const LOOK_EVERY_MS = 60_000

/** Reads the certificate and its key. Throws OperatorError. */
export function readCertificate({ certFile, keyFile }: Files): { cert: Buffer; key: Buffer } {
  return { cert: read('SMTP_DOOR_CERT_FILE', certFile), key: read('SMTP_DOOR_KEY_FILE', keyFile) }
}

function read(variable: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new OperatorError(`${variable}: ${error instanceof Error ? error.message : error}`)
  }
}

/** Gives servers the certificate again whenever it is renewed. Returns how to stop looking. */
export function followRenewals(files: Files, servers: SMTPServer[], log: Logger): () => void {
  let known = changedAt(files)
  const looking = setInterval(() => {
    try {
      const now = changedAt(files)
      if (now === known) return
      const certificate = readCertificate(files)
      for (const server of servers) server.updateSecureContext(certificate)
      known = now
      log.info('the certificate of the SMTP ports was renewed')
    } catch (error) {
      // The files of a renewal may come one after the other; the old certificate serves until they fit.
      log.warn({ err: error }, 'the certificate of the SMTP ports cannot be read')
    }
  }, LOOK_EVERY_MS)
  looking.unref()
  return () => clearInterval(looking)
}

const changedAt = ({ certFile, keyFile }: Files): string =>
  [certFile, keyFile].map((file) => statSync(file).mtimeMs).join(' ')
