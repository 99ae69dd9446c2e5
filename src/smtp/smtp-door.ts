import { once } from 'node:events'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { RateLimiter } from '../admission/limits.ts'
import type { SmtpDoorConfig } from '../config.ts'
import type { Services } from '../ctx.ts'
import { limitConnections } from '../http/budgets/connections.ts'
import type { StrangerLimit } from '../http/budgets/stranger-limit.ts'
import { followRenewals, readCertificate } from './certificate.ts'
import { Conversations } from './conversations.ts'
import { InboundDoor } from './inbound.ts'
import { MessageRoom } from './message-room.ts'
import { type DoorParts, SubmissionDoor } from './submission.ts'

type Given = { services: Services; rateLimiter: RateLimiter; strangers: StrangerLimit }

/** Milliseconds of silence of a client; `Conversations` bounds the rest. */
const SOCKET_MS = 300_000
/** Messages under way have this long when the process stops. */
const CLOSE_MS = 12_000
const UNAUTHENTICATED_COMMANDS = 10

/** Listens on the SMTP ports. Throws OperatorError when the certificate cannot be read, and what `listen` throws. */
export async function startSmtpDoor(
  given: Given,
  door: SmtpDoorConfig,
): Promise<{ name: string; stop: () => Promise<void> }> {
  const { services } = given
  const conversations = new Conversations()
  const parts: DoorParts = { ...given, conversations, room: new MessageRoom(services.config.maxMessageBytes) }
  const tls = door.certificate ? readCertificate(door.certificate) : null
  const submission = new SubmissionDoor(parts).options()
  const servers: SMTPServer[] = []
  const stop = async () => {
    stopFollowing()
    await conversations.stop()
  }
  const open = async (port: number | null, options: SMTPServerOptions) => {
    if (port === null) return
    const server = newServer(parts, door, { ...tls, ...options })
    servers.push(server)
    conversations.watch(server)
    server.listen(port, door.host)
    await once(server.server, 'listening')
  }
  const stopFollowing = door.certificate ? followRenewals(door.certificate, servers, services.log) : () => {}
  const plain = tls ? {} : { disabledCommands: ['STARTTLS'], allowInsecureAuth: true }
  try {
    await open(door.ports.submission, { ...submission, ...plain })
    await open(door.ports.tls, { ...submission, secure: true })
    await open(door.ports.inbound, new InboundDoor(parts).options())
  } catch (error) {
    await stop()
    throw error
  }
  if (!tls) {
    services.log.warn(
      { host: door.host, ports: door.ports },
      'the SMTP ports have no certificate (SMTP_DOOR_CERT_FILE): mail is taken without TLS, and keys from this machine only',
    )
  }
  return { name: 'smtp', stop }
}

function newServer({ services, conversations }: DoorParts, door: SmtpDoorConfig, options: SMTPServerOptions) {
  const { config, log } = services
  const server = new SMTPServer({
    name: door.domain,
    banner: 'Mailwright',
    size: config.maxMessageBytes,
    disableReverseLookup: true,
    logger: false,
    socketTimeout: SOCKET_MS,
    closeTimeout: CLOSE_MS,
    maxAllowedUnauthenticatedCommands: UNAUTHENTICATED_COMMANDS,
    onConnect: (session, done) => {
      conversations.begin(session.id)
      done()
    },
    ...options,
  })
  limitConnections(server.server, config.connections)
  // Clients break off, and talk TLS badly; neither is trouble of ours.
  server.on('error', (error: Error) => log.debug({ err: error }, 'an SMTP connection has failed'))
  return server
}
