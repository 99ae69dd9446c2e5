import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import * as assert from 'uvu/assert'
import { listen } from '../../support/listen.ts'
import { type Body, type Service, startService, until } from '../../support/service.ts'

export type Received = {
  id: string
  timestamp: string
  signatures: string[]
  method: string
  headers: IncomingHttpHeaders
  body: string
  path: string
}

export type Receiver = {
  url: string
  received: Received[]
  /** What calls are answered with from now on. */
  answer: (status: number, text?: string) => void
}

export type WithReceiver = Service & { receiver: Receiver }

/** A service that may call this machine, beside a server that webhooks go to. */
export async function startWithReceiver(env: Record<string, string> = {}): Promise<WithReceiver> {
  const received: Received[] = []
  let reply = { status: 200, text: 'ok' }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const header = (name: string) => String(request.headers[name] ?? '')
    received.push({
      id: header('webhook-id'),
      timestamp: header('webhook-timestamp'),
      signatures: header('webhook-signature').split(' '),
      method: request.method ?? '',
      headers: request.headers,
      body,
      path: request.url ?? '',
    })
    response.writeHead(reply.status).end(reply.text)
  })
  const port = await listen(server)
  const service = await startService({ ALLOW_PRIVATE_WEBHOOKS: 'true', ...env })
  const answer = (status: number, text = '') => {
    reply = { status, text }
  }
  const stop = async () => {
    await service.stop()
    server.closeAllConnections()
    server.close()
  }
  return { ...service, receiver: { url: `http://127.0.0.1:${port}`, received, answer }, stop }
}

export async function data(answer: Promise<{ body: Body }>): Promise<Body> {
  const { body } = await answer
  assert.is(body.errors, undefined, JSON.stringify(body.errors))
  return body.data
}

const ENDPOINT = 'id url eventNames enabled failingSince disabledReason'

export async function newEndpoint({ as }: Service, url: string, eventNames: string[]) {
  const query = `mutation ($input: CreateWebhookEndpointInput!) {
    createWebhookEndpoint(input: $input) { endpoint { ${ENDPOINT} } secret } }`
  return (await data(as().graphql(query, { input: { url, eventNames } }))).createWebhookEndpoint
}

export const endpointsOf = async ({ as }: Service): Promise<Body[]> =>
  (await data(as().graphql(`{ webhookEndpoints { ${ENDPOINT} } }`))).webhookEndpoints

export const CALL = 'id eventName status attempts dueAt endedAt body tries { url status answer error tookMs }'

export async function callsOf({ as }: Service, args = ''): Promise<Body[]> {
  return (await data(as().graphql(`{ webhookCalls${args} { data { ${CALL} } total } }`))).webhookCalls.data
}

/** The newest call when it is as wanted; a failure tells how it was. */
export async function callWhen(service: Service, isWanted: (call: Body) => boolean): Promise<Body> {
  let last: Body
  const wanted = until('the call is as wanted', async () => {
    const [call] = await callsOf(service)
    last = call
    return call && isWanted(call) ? call : null
  })
  return wanted.catch((error: unknown) => {
    throw new Error(JSON.stringify(last), { cause: error })
  })
}

/** As receivers check it (Standard Webhooks). */
export const isSignedWith = (secret: string, { id, timestamp, body, signatures }: Received): boolean => {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return signatures.includes(`v1,${expected}`)
}

export async function track({ as, project }: Service, event: string, more: object = {}): Promise<void> {
  const { status, text } = await as(project.public).post('/v1/track', {
    email: 'ada@example.org',
    event,
    ...more,
  })
  assert.is(status, 200, text)
}
