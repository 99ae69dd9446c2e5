import { createVerify } from 'node:crypto'
import { z } from 'zod'

/*
 * Messages of Amazon SNS: docs.aws.amazon.com/sns, "Verifying the signatures of Amazon SNS messages" and "HTTP/HTTPS
 * notification JSON format".
 */

const base = z.object({
  MessageId: z.string().min(1).max(255),
  TopicArn: z.string().max(512),
  Message: z.string(),
  Timestamp: z.string(),
  SignatureVersion: z.enum(['1', '2']),
  Signature: z.string().max(2_048),
  SigningCertURL: z.url().max(1_024),
})

const confirmation = base.extend({ Token: z.string(), SubscribeURL: z.url().max(4_096) })

export const snsMessage = z.discriminatedUnion('Type', [
  base.extend({ Type: z.literal('Notification'), Subject: z.string().optional() }),
  confirmation.extend({ Type: z.literal('SubscriptionConfirmation') }),
  confirmation.extend({ Type: z.literal('UnsubscribeConfirmation') }),
])

export type SnsMessage = z.output<typeof snsMessage>

/** Names and values of what is signed, each on a line of its own, in this order. */
const SIGNED = ['Message', 'MessageId', 'Subject', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']

const signedText = (message: SnsMessage): string =>
  SIGNED.flatMap((name) => {
    const value = Object.entries(message).find(([key]) => key === name)?.[1]
    return value === undefined ? [] : [`${name}\n${value}\n`]
  }).join('')

/** `certificate` is PEM. Throws when it is none. */
export function isSignedBySns(message: SnsMessage, certificate: string): boolean {
  const algorithm = message.SignatureVersion === '2' ? 'RSA-SHA256' : 'RSA-SHA1'
  return createVerify(algorithm)
    .update(signedText(message))
    .verify(certificate, Buffer.from(message.Signature, 'base64'))
}

/** The region of a topic: arn:aws:sns:eu-west-1:123456789012:name, with aws-cn in China. */
const TOPIC = /^arn:aws(-cn|-us-gov)?:sns:([a-z0-9-]{3,32}):\d{12}:[\w-]{1,256}(?:\.fifo)?$/

/** Where SNS answers for a topic; null when the name of the topic is none. */
export function snsHostOf(topic: string): string | null {
  const [, partition, region] = TOPIC.exec(topic) ?? []
  if (region === undefined) return null
  return `sns.${region}.amazonaws.com${partition === '-cn' ? '.cn' : ''}`
}

const CERTIFICATE = /^\/SimpleNotificationService-[0-9A-Za-z]{1,64}\.pem$/

/** The address of a certificate, when it is one of SNS. `origin` is where that is. */
export function certificateUrl(text: string, origin: string): URL | null {
  const url = URL.parse(text)
  return url?.origin === origin && CERTIFICATE.test(url.pathname) && url.search === '' ? url : null
}
