import type { SMTPServerDataStream, SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import { SYSTEM } from '../admission/access.ts'
import { createCtx } from '../ctx.ts'
import { receiveMail, receivers } from '../features/inbound/receive-mail.ts'
import { isEmailAddress, normalizeEmail } from '../messages/email-address.rules.ts'
import { answering } from './answering.ts'
import { BAD_RECIPIENT, NO_RELAY, TOO_SLOW } from './replies.ts'
import { type DoorParts, MAX_RECIPIENTS } from './submission.ts'

/** The side of other mail servers: anyone may hand in mail for the verified domains, and for nobody else. */
export class InboundDoor {
  readonly #parts: DoorParts

  constructor(parts: DoorParts) {
    this.#parts = parts
  }

  options(): SMTPServerOptions {
    const { services, conversations } = this.#parts
    return {
      authOptional: true,
      disabledCommands: services.config.smtpDoor?.certificate ? ['AUTH'] : ['AUTH', 'STARTTLS'],
      maxRecipients: MAX_RECIPIENTS,
      onMailFrom: answering(services.log, async (_address, session) => this.#count(session)),
      onRcptTo: answering(services.log, ({ address }, session, requestId) =>
        this.#assertReceived(address, session, requestId),
      ),
      onData: answering(services.log, (stream, session, requestId) => this.#take(stream, session, requestId)),
      onClose: ({ id }) => conversations.end(id),
    }
  }

  /** Each message, and each recipient that has to be looked up, counts for the address that it comes from. */
  #count({ remoteAddress }: SMTPServerSession): void {
    this.#parts.strangers.countAddress(remoteAddress, this.#parts.services.now())
  }

  async #assertReceived(address: string, session: SMTPServerSession, requestId: string): Promise<void> {
    this.#count(session)
    const email = normalizeEmail(address)
    if (!isEmailAddress(email)) throw BAD_RECIPIENT
    const found = await receivers(this.#ctx(requestId), [email])
    if (found.size === 0) throw NO_RELAY
  }

  async #take(stream: SMTPServerDataStream, session: SMTPServerSession, requestId: string): Promise<string> {
    const { conversations, room } = this.#parts
    const { remoteAddress: owner, envelope } = session
    conversations.receives(session.id)
    try {
      const received = await room.receive(stream, owner, () => conversations.hangUp(session.id, TOO_SLOW))
      await room.use(received, owner, (raw) =>
        receiveMail(this.#ctx(requestId), {
          raw,
          sender: envelope.mailFrom ? envelope.mailFrom.address : '',
          recipients: envelope.rcptTo.map(({ address }) => address),
        }),
      )
      return '2.0.0 Received'
    } finally {
      conversations.goesOn(session.id)
    }
  }

  #ctx(requestId: string) {
    return createCtx(this.#parts.services, SYSTEM, requestId)
  }
}
