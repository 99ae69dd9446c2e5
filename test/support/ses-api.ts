import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { z } from 'zod'
import { listen } from './listen.ts'

/** An identity as GetEmailIdentity shows it. */
export type Identity = {
  dkim: 'PENDING' | 'SUCCESS' | 'FAILED' | 'TEMPORARY_FAILURE' | 'NOT_STARTED'
  verified: boolean
  mailFrom: string | null
}

const sentEmail = z.object({
  FromEmailAddress: z.string(),
  Destination: z.object({ ToAddresses: z.array(z.string()) }),
  Content: z.object({ Raw: z.object({ Data: z.base64() }) }),
  EmailTags: z.array(z.object({ Name: z.string(), Value: z.string() })),
  ConfigurationSetName: z.string().optional(),
})
export type SesEmail = z.infer<typeof sentEmail>

/** An answer that is not the usual one; null never comes. */
export type SesAnswer = { status: number; error: string; message: string } | null

const identityInput = z.object({ EmailIdentity: z.string() })
const mailFromInput = z.object({ MailFromDomain: z.string(), BehaviorOnMxFailure: z.string() })

export type SesApi = Awaited<ReturnType<typeof startSesApi>>

/**
 * Stands in for Amazon SES on loopback (docs.aws.amazon.com/ses/latest/APIReference-V2): takes requests that are signed with
 * its key, and answers as documented about mail, the account and identities.
 */
export async function startSesApi() {
  const emails: SesEmail[] = []
  const identities = new Map<string, Identity>()
  const calls: string[] = []
  const state: { answer: (call: string) => SesAnswer | undefined; sendingEnabled: boolean } = {
    answer: () => undefined,
    sendingEnabled: true,
  }

  const respond = (response: ServerResponse, status: number, body: object, error?: string) => {
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(error && { 'x-amzn-errortype': error }),
    })
    response.end(JSON.stringify(body))
  }

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request)
    const call = `${request.method} ${decodeURIComponent(request.url ?? '')}`
    calls.push(call)
    const given = state.answer(call)
    if (given === null) return
    if (given) return respond(response, given.status, { message: given.message }, given.error)
    if (!isSigned(request)) {
      const message = 'The security token included in the request is invalid.'
      return respond(response, 403, { message }, 'UnrecognizedClientException')
    }
    const json: unknown = body.length > 0 ? JSON.parse(body.toString()) : {}
    const [status, answer, error] = answerTo(call, json)
    respond(response, status, answer, error)
  }

  function answerTo(call: string, json: unknown): [status: number, body: object, error?: string] {
    if (call === 'GET /v2/email/account') {
      return [200, { SendingEnabled: state.sendingEnabled, ProductionAccessEnabled: true }]
    }
    if (call === 'POST /v2/email/outbound-emails') {
      emails.push(sentEmail.parse(json))
      return [200, { MessageId: `0100-${emails.length}-000000` }]
    }
    if (call === 'POST /v2/email/identities') return create(identityInput.parse(json).EmailIdentity)
    const [, name = '', mailFrom] = /^\w+ \/v2\/email\/identities\/([^/]+)(\/mail-from)?$/.exec(call) ?? []
    const identity = identities.get(name)
    if (!identity) return [404, { message: `Email identity ${name} does not exist.` }, 'NotFoundException']
    if (mailFrom) {
      identity.mailFrom = mailFromInput.parse(json).MailFromDomain
      return [200, {}]
    }
    return [200, shown(name, identity)]
  }

  function create(name: string): [number, object, string?] {
    if (identities.has(name)) return [400, { message: 'exists' }, 'AlreadyExistsException']
    identities.set(name, { dkim: 'PENDING', verified: false, mailFrom: null })
    return [200, { IdentityType: 'DOMAIN', VerifiedForSendingStatus: false }]
  }

  const server = createServer((request, response) => {
    take(request, response).catch((error: unknown) =>
      respond(response, 400, { message: String(error) }, 'BadRequestException'),
    )
  })
  const port = await listen(server)
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    emails,
    identities,
    calls,
    state,
    env: {
      MAIL_PROVIDER: 'ses',
      AWS_REGION: REGION,
      AWS_ACCESS_KEY_ID: KEY_ID,
      AWS_SECRET_ACCESS_KEY: 'secret-of-the-key',
      SES_ENDPOINT: url,
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const REGION = 'eu-west-1'
const KEY_ID = 'AKIDEXAMPLE'

/** Signature Version 4 names the key, the region and the service; the client's library computes the rest. */
const isSigned = ({ headers }: IncomingMessage): boolean =>
  new RegExp(`^AWS4-HMAC-SHA256 Credential=${KEY_ID}/\\d{8}/${REGION}/ses/aws4_request, `).test(
    headers.authorization ?? '',
  )

export const tokensOf = (domain: string): string[] =>
  ['1', '2', '3'].map((number) =>
    createHash('sha256')
      .update(number + domain)
      .digest('hex')
      .slice(0, 32),
  )

function shown(name: string, { dkim, verified, mailFrom }: Identity) {
  return {
    IdentityType: 'DOMAIN',
    FeedbackForwardingStatus: true,
    VerifiedForSendingStatus: verified,
    VerificationStatus: verified ? 'SUCCESS' : 'PENDING',
    DkimAttributes: {
      ...{ SigningEnabled: true, Status: dkim, SigningAttributesOrigin: 'AWS_SES' },
      ...{
        Tokens: tokensOf(name),
        NextSigningKeyLength: 'RSA_2048_BIT',
        CurrentSigningKeyLength: 'RSA_2048_BIT',
      },
    },
    ...(mailFrom !== null && {
      MailFromAttributes: {
        ...{ MailFromDomain: mailFrom, MailFromDomainStatus: 'PENDING' },
        BehaviorOnMxFailure: 'USE_DEFAULT_VALUE',
      },
    }),
  }
}
