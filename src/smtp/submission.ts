import type {
  SMTPServerAuthentication,
  SMTPServerDataStream,
  SMTPServerOptions,
  SMTPServerSession,
} from 'smtp-server'
import type { KeyActor } from '../admission/access.ts'
import type { RateLimiter } from '../admission/limits.ts'
import { type Guarded, permitted } from '../admission/permission.ts'
import { createCtx, type Services } from '../ctx.ts'
import { submitMessage } from '../features/sending/submission.ts'
import type { StrangerLimit } from '../http/budgets/stranger-limit.ts'
import { isLoopbackAddress } from '../lib/net/loopback.ts'
import { isEmailAddress, normalizeEmail } from '../messages/email-address.rules.ts'
import { answering } from './answering.ts'
import type { Conversations } from './conversations.ts'
import type { MessageRoom } from './message-room.ts'
import { BAD_RECIPIENT, NEEDS_TLS, TOO_MANY_CONNECTIONS, TOO_SLOW } from './replies.ts'

export type DoorParts = {
  services: Services
  rateLimiter: RateLimiter
  strangers: StrangerLimit
  conversations: Conversations
  room: MessageRoom
}

const CONNECTIONS_PER_PROJECT = 100
/** RFC 5321, 4.5.3.1.8, asks for this many at least. */
export const MAX_RECIPIENTS = 100
/** Ids that an answer names; a line has its limit. */
const MAX_TOLD = 10

const LOGGING_IN: Guarded = {
  access: 'secretKey',
  role: 'MEMBER',
  projectArgument: null,
  scope: 'SEND',
  unverified: false,
  writes: false,
}
const SENDING: Guarded = { ...LOGGING_IN, writes: true }

type Login = { key: string; projectId: string }

/** The side of the clients that have a key: they log in, and hand in mail for anyone. */
export class SubmissionDoor {
  readonly #parts: DoorParts
  readonly #logins = new Map<string, Login>()
  readonly #connections = new Map<string, number>()

  constructor(parts: DoorParts) {
    this.#parts = parts
  }

  options(): SMTPServerOptions {
    const { log } = this.#parts.services
    return {
      authMethods: ['PLAIN', 'LOGIN'],
      maxRecipients: MAX_RECIPIENTS,
      onAuth: answering(log, (auth, session) => this.#logIn(auth, session)),
      onMailFrom: answering(log, (_address, session, requestId) => this.#admit(session, requestId)),
      onRcptTo: answering(log, async ({ address }) => {
        if (!isEmailAddress(normalizeEmail(address))) throw BAD_RECIPIENT
      }),
      onData: answering(log, (stream, session, requestId) => this.#take(stream, session, requestId)),
      onClose: (session) => this.#leave(session.id),
    }
  }

  /** The user name may be anything: a key says whose it is. */
  async #logIn({ password }: SMTPServerAuthentication, session: SMTPServerSession) {
    const { smtpDoor, environment } = this.#parts.services.config
    const mayBePlain =
      environment !== 'production' && !smtpDoor?.certificate && isLoopbackAddress(session.remoteAddress)
    if (!session.secure && !mayBePlain) throw NEEDS_TLS
    const key = password ?? ''
    const { project } = await this.#actorOf(key, session)
    // Nobody would take back what is counted from here on.
    if (!this.#parts.conversations.isOpen(session.id)) throw TOO_SLOW
    const open = this.#connections.get(project.id) ?? 0
    if (open >= CONNECTIONS_PER_PROJECT) throw TOO_MANY_CONNECTIONS
    this.#connections.set(project.id, open + 1)
    this.#logins.set(session.id, { key, projectId: project.id })
    this.#parts.conversations.goesOn(session.id)
    return { user: project.id }
  }

  /** Asked at every message: a key may be rotated, a project disabled while the connection is open. */
  async #actorOf(key: string, session: SMTPServerSession): Promise<KeyActor> {
    const { services, strangers } = this.#parts
    const guess = () => strangers.countAddress(session.remoteAddress, services.now())
    const actor = await services.keyRing.authenticate(`Bearer ${key}`, true, guess)
    if (actor.kind !== 'key') throw new Error('a key has led to somebody without one')
    await permitted(createCtx(services, actor, session.id), LOGGING_IN, () => undefined)
    return actor
  }

  /** A message counts as a request, before any of it is received. */
  async #admit(session: SMTPServerSession, requestId: string): Promise<void> {
    const { rateLimiter, services } = this.#parts
    const { actor } = await this.#ctxOf(session, requestId)
    await rateLimiter.count(actor.project, services.now())
  }

  async #ctxOf(session: SMTPServerSession, requestId: string) {
    const actor = await this.#actorOf(this.#logins.get(session.id)?.key ?? '', session)
    const ctx = createCtx(this.#parts.services, actor, requestId)
    return { actor, ctx: await permitted(ctx, SENDING, () => undefined) }
  }

  async #take(stream: SMTPServerDataStream, session: SMTPServerSession, requestId: string): Promise<string> {
    const { conversations, room } = this.#parts
    const owner = this.#logins.get(session.id)?.projectId ?? ''
    conversations.receives(session.id)
    try {
      const received = await room.receive(stream, owner, () => conversations.hangUp(session.id, TOO_SLOW))
      return await room.use(received, owner, (raw) => this.#send(raw, session, requestId))
    } finally {
      conversations.goesOn(session.id)
    }
  }

  async #send(received: Buffer, session: SMTPServerSession, requestId: string): Promise<string> {
    const { message, raw } = await this.#parts.services.messageReader.read(received)
    const { ctx } = await this.#ctxOf(session, requestId)
    const { mailFrom, rcptTo } = session.envelope
    const { emails } = await submitMessage(ctx, {
      sender: mailFrom ? mailFrom.address : '',
      recipients: rcptTo.map(({ address }) => address),
      message,
      raw,
    })
    const ids = emails.map(({ email }) => email)
    const more = ids.length > MAX_TOLD ? ` and ${ids.length - MAX_TOLD} more` : ''
    return `2.0.0 Accepted as ${ids.slice(0, MAX_TOLD).join(' ')}${more}`
  }

  #leave(id: string): void {
    this.#parts.conversations.end(id)
    const projectId = this.#logins.get(id)?.projectId
    if (projectId === undefined || !this.#logins.delete(id)) return
    const left = (this.#connections.get(projectId) ?? 1) - 1
    if (left > 0) this.#connections.set(projectId, left)
    else this.#connections.delete(projectId)
  }
}
