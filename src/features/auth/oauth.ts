import * as oauth from 'oauth4webapi'
import { z } from 'zod'
import type { Config } from '../../config.ts'
import type { Ctx } from '../../ctx.ts'
import { AppError, badRequest } from '../../errors.ts'
import { isJsonObject } from '../../lib/json.ts'
import { decrypt, encrypt } from '../../lib/secrets.ts'
import { isEmailAddress, normalizeEmail } from '../../messages/email-address.rules.ts'
import { type Identity, signInThrough } from './provider-accounts.ts'

/** Milliseconds for each request to the provider. */
const PROVIDER_MS = 10_000
/** How long somebody may take at the provider, in seconds. */
export const FLOW_SECONDS = 600

/** What a browser that was sent to the provider has to bring back, besides the provider's answer. */
const flow = z.object({ provider: z.string(), state: z.string(), verifier: z.string(), until: z.number() })

type Provider = {
  clientId: string
  clientSecret: string
  server: oauth.AuthorizationServer
  scope: string
  identify: (ask: Ask) => Promise<Identity>
}

/** Asks the provider's API for a resource of the person. */
type Ask = (url: string) => Promise<unknown>

const githubUser = z.object({ id: z.number() })
const githubEmails = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }))
const googleUser = z.object({
  sub: z.string(),
  email: z.string().optional(),
  email_verified: z.boolean().optional(),
})

/** https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps */
function github({ url, ...client }: NonNullable<Config['oauth']['github']>): Provider {
  const api = url === 'https://github.com' ? 'https://api.github.com' : `${url}/api/v3`
  return {
    ...client,
    server: {
      issuer: `${url}/login/oauth`,
      authorization_endpoint: `${url}/login/oauth/authorize`,
      token_endpoint: `${url}/login/oauth/access_token`,
    },
    scope: 'read:user user:email',
    async identify(ask) {
      const { id } = githubUser.parse(await ask(`${api}/user`))
      const emails = githubEmails.parse(await ask(`${api}/user/emails`))
      const email = emails.find(({ primary, verified }) => primary && verified)?.email
      return { column: 'githubId', id: String(id), email: verifiedEmail(email) }
    },
  }
}

/** https://developers.google.com/identity/openid-connect/openid-connect */
function google({ url, ...client }: NonNullable<Config['oauth']['google']>): Provider {
  const at = (host: string, path: string) => `${url ?? `https://${host}`}${path}`
  return {
    ...client,
    server: {
      issuer: at('accounts.google.com', ''),
      authorization_endpoint: at('accounts.google.com', '/o/oauth2/v2/auth'),
      token_endpoint: at('oauth2.googleapis.com', '/token'),
    },
    scope: 'openid email',
    async identify(ask) {
      const user = googleUser.parse(await ask(at('openidconnect.googleapis.com', '/v1/userinfo')))
      return {
        column: 'googleId',
        id: user.sub,
        email: verifiedEmail(user.email_verified ? user.email : undefined),
      }
    },
  }
}

const verifiedEmail = (email: string | undefined): string | null =>
  email !== undefined && isEmailAddress(email) ? normalizeEmail(email) : null

function providerNamed({ oauth: configured }: Config, name: string): Provider {
  if (name === 'github' && configured.github) return github(configured.github)
  if (name === 'google' && configured.google) return google(configured.google)
  throw new AppError('RESOURCE_NOT_FOUND', 'Nobody can sign in through this provider here.')
}

const redirectUri = ({ apiUrl }: Config, name: string): string => `${apiUrl}/auth/oauth/${name}/callback`

/** Where to send the browser, and what it has to keep meanwhile. Throws RESOURCE_NOT_FOUND. */
export async function beginFlow({ config, now }: Ctx, name: string): Promise<{ url: string; kept: string }> {
  const { server, clientId, scope } = providerNamed(config, name)
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const url = new URL(server.authorization_endpoint ?? '')
  for (const [parameter, value] of Object.entries({
    client_id: clientId,
    redirect_uri: redirectUri(config, name),
    response_type: 'code',
    scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })) {
    url.searchParams.set(parameter, value)
  }
  const until = now().getTime() + FLOW_SECONDS * 1000
  const kept = encrypt(config.flowKey, JSON.stringify({ provider: name, state, verifier, until }))
  return { url: url.href, kept: kept.toString('base64url') }
}

/**
 * Signs in the person whom the provider has sent back. Throws BAD_REQUEST when it is not the browser that was sent there,
 * or took too long, EXTERNAL_SERVICE_ERROR for trouble of the provider, and as `signInThrough`.
 */
export async function endFlow(ctx: Ctx, name: string, answer: URLSearchParams, kept: string): Promise<void> {
  const provider = providerNamed(ctx.config, name)
  const { state, verifier } = openFlow(ctx, name, kept)
  if (answer.get('state') !== state) throw notBegunHere()
  if (answer.has('error')) throw badRequest('You were not signed in: the provider has refused, or you have.')
  const identity = await identityOf(ctx, name, provider, answer, { state, verifier }).catch(
    (error: unknown) => {
      ctx.log.warn(
        { err: error, provider: name, requestId: ctx.requestId },
        'a sign-in through a provider has failed',
      )
      throw new AppError('EXTERNAL_SERVICE_ERROR', 'The provider has not told who you are.', {
        suggestion: 'Try again; the log of the service has the reason under the request id.',
      })
    },
  )
  await signInThrough(ctx, identity)
}

function openFlow({ config, now }: Ctx, name: string, kept: string): z.output<typeof flow> {
  try {
    const opened = flow.parse(JSON.parse(decrypt(config.flowKey, Buffer.from(kept, 'base64url'))))
    if (opened.provider === name && opened.until > now().getTime()) return opened
  } catch {
    // Cut off, changed, or of another service on this host.
  }
  throw notBegunHere()
}

const notBegunHere = () =>
  badRequest('This sign-in did not begin in this browser, or took too long. Begin it again.')

async function identityOf(
  { config }: Ctx,
  name: string,
  { clientId, clientSecret, server, identify }: Provider,
  answer: URLSearchParams,
  { state, verifier }: { state: string; verifier: string },
): Promise<Identity> {
  const client: oauth.Client = { client_id: clientId }
  const options = () => ({
    signal: AbortSignal.timeout(PROVIDER_MS),
    // The library refuses http otherwise; only an operator can have set such an address.
    [oauth.allowInsecureRequests]: server.issuer.startsWith('http:'),
  })
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.ClientSecretPost(clientSecret),
    oauth.validateAuthResponse(server, client, answer, state),
    redirectUri(config, name),
    verifier,
    options(),
  )
  const { access_token } = await oauth.processAuthorizationCodeResponse(server, client, response)
  return identify(async (url) => {
    const headers = new Headers({ accept: 'application/json', 'user-agent': 'Mailwright' })
    const found = await oauth.protectedResourceRequest(
      access_token,
      'GET',
      new URL(url),
      headers,
      null,
      options(),
    )
    if (!found.ok) throw new Error(`${new URL(url).pathname} answered ${found.status}`)
    const body: unknown = await found.json()
    if (!isJsonObject(body) && !Array.isArray(body)) throw new Error(`${new URL(url).pathname} is no object`)
    return body
  })
}
