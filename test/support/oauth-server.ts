import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { listen } from './listen.ts'

/** A person at the provider. */
export type Person = { id: number; email: string; verified: boolean }

type Grant = { person: Person; challenge: string; redirectUri: string }

/** GitHub and Google in one, as far as signing in asks them; codes are good for one use, with their PKCE verifier. */
export async function startOauthServer() {
  const codes = new Map<string, Grant>()
  const tokens = new Map<string, Person>()
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x')
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    if (request.method === 'POST') {
      void textOf(request).then((text) => {
        const form = new URLSearchParams(text)
        const grant = codes.get(form.get('code') ?? '')
        codes.delete(form.get('code') ?? '')
        const challenge = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url')
        const isRight =
          grant?.challenge === challenge &&
          grant.redirectUri === form.get('redirect_uri') &&
          form.get('client_secret') === 'client-secret'
        if (!isRight) return answer(400, { error: 'invalid_grant' })
        const token = randomUUID()
        tokens.set(token, grant.person)
        answer(200, { access_token: token, token_type: 'bearer' })
      })
      return
    }
    const person = tokens.get(/^Bearer (.*)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '')
    if (!person) return answer(401, {})
    const { id, email, verified } = person
    if (url.pathname === '/api/v3/user') answer(200, { id })
    else if (url.pathname === '/api/v3/user/emails') answer(200, [{ email, primary: true, verified }])
    else if (url.pathname === '/v1/userinfo')
      answer(200, { sub: String(id), email, email_verified: verified })
    else answer(404, {})
  })
  const port = await listen(server)
  const url = `http://127.0.0.1:${port}`
  /** The address that the provider sends the person back to, who was sent to `location`. */
  const agree = (location: string, person: Person): URL => {
    const asked = new URL(location).searchParams
    const redirectUri = asked.get('redirect_uri') ?? ''
    const code = randomUUID()
    codes.set(code, { person, challenge: asked.get('code_challenge') ?? '', redirectUri })
    const back = new URL(redirectUri)
    back.searchParams.set('code', code)
    back.searchParams.set('state', asked.get('state') ?? '')
    return back
  }
  return { url, agree, stop: () => new Promise((resolve) => server.close(resolve)) }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
