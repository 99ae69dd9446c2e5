import { openSes, type SesConnection } from '../../lib/net/ses-client.ts'
import { defineMailer } from '../define-mailer.ts'
import type { DeliveryResult, Mailer, OutgoingMail } from '../mailer.ts'
import { composeMessage, SigningKeys } from '../mime.ts'
import { explainSes, pausedAccount, type SesFailure } from './ses-failures.ts'

export type SesOptions = SesConnection & {
  /** What mail is sent with, which says where its notifications go; null for none. */
  configurationSet: string | null
  /** Milliseconds for a whole hand-over. */
  timeoutMs?: number | undefined
  concurrency?: number | undefined
}

/** Hands mail to Amazon SES as the finished MIME message (docs.aws.amazon.com/ses/latest/APIReference-V2, SendEmail). */
export function createSesMailer(options: SesOptions): Mailer {
  const { configurationSet, timeoutMs = 30_000, concurrency = 20 } = options
  const keys = new SigningKeys()
  const limits = { connect: Math.min(10_000, timeoutMs), idle: timeoutMs }
  // It is opened for the first message: loading the SDK takes a while.
  let opening: ReturnType<typeof openSes> | null = null
  const open = () => {
    opening ??= openSes(options, limits)
    return opening
  }

  async function handOver(mail: OutgoingMail): Promise<DeliveryResult> {
    const { from, to, raw } = await composeMessage(mail, keys)
    const { sdk, client } = await open()
    const command = new sdk.SendEmailCommand({
      FromEmailAddress: from,
      Destination: { ToAddresses: [to] },
      Content: { Raw: { Data: raw } },
      // Notifications name the message by it, also those that come before this answer.
      EmailTags: [{ Name: 'email_id', Value: mail.emailId }],
      ...(configurationSet !== null && { ConfigurationSetName: configurationSet }),
    })
    const abortSignal = AbortSignal.timeout(timeoutMs)
    try {
      const { MessageId } = await client.send(command, { abortSignal })
      return MessageId
        ? { kind: 'sent', providerMessageId: MessageId }
        : explainSes({ name: 'NoMessageId', message: 'the answer names no message', status: 200 })
    } catch (error) {
      return explainSes(failureOf(error))
    }
  }

  return defineMailer({
    provider: 'ses',
    concurrency,
    deliver: handOver,
    async probe() {
      const { sdk, client } = await open()
      try {
        const account = await client.send(new sdk.GetAccountCommand({}), {
          abortSignal: AbortSignal.timeout(timeoutMs),
        })
        return account.SendingEnabled === false ? pausedAccount : { kind: 'sent', providerMessageId: null }
      } catch (error) {
        const failure = failureOf(error)
        // Credentials that may only send are refused here; they are proved by sending.
        return failure.status === 403 && failure.name.startsWith('AccessDenied')
          ? { kind: 'sent', providerMessageId: null }
          : explainSes(failure)
      }
    },
    release: () => void opening?.then(({ client }) => client.destroy()),
  })
}

/** The SDK names its own errors and those of the network; an answer of Amazon has a status. */
function failureOf(error: unknown): SesFailure {
  if (!(error instanceof Error)) return { name: '', message: String(error), status: 0 }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return { name: code, message: error.message, status: statusOf(error) }
}

function statusOf(error: object): number {
  const metadata = '$metadata' in error ? error.$metadata : null
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata)) return 0
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : 0
}
