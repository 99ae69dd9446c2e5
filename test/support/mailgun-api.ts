import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import PostalMime from 'postal-mime'
import { listen } from './listen.ts'
import { mailgunDomains } from './mailgun-domains.ts'

/** One call that was accepted, with what each of its recipients gets. */
export type MailgunCall = { path: string; to: string[]; bytes: number; form: FormData }

/** A message as its recipient reads it; headers by their name in lower case. */
export type MailgunMessage = {
  to: string
  subject: string
  html: string
  text: string
  headers: Record<string, string>
  /** What notifications about it bring along. */
  variables: Record<string, string>
}

/** An answer; `null` never comes. */
export type MailgunAnswer = { status: number; message: string } | null

export type MailgunOptions = {
  apiKey?: string
  /** Asked about every call that is correct, before it is accepted; undefined accepts it. */
  answer?: (to: string[]) => MailgunAnswer | undefined | Promise<MailgunAnswer | undefined>
  /** False for one that runs for long: it keeps nothing. */
  keeps?: boolean
}

const MOST_RECIPIENTS = 1_000
const MOST_BYTES = 25 * 1024 * 1024
const ADDRESS = /^[^\s@<>,;:"]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i

/** `json` is the whole body of an answer that is not about messages. */
type Given = { status: number; message: string; json?: object }

class Refused extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export type MailgunApi = Awaited<ReturnType<typeof startMailgunApi>>

/**
 * Stands in for Mailgun's API on loopback: checks what it documents (log-in, form, sender, recipients, variables,
 * limits), refuses in its words, and keeps what it accepts.
 */
export async function startMailgunApi({ apiKey = 'key-s3cret', answer, keeps = true }: MailgunOptions = {}) {
  const calls: MailgunCall[] = []
  /** Calls that were correct, and refused all the same. */
  const refused: MailgunCall[] = []
  let gate: Promise<void> = Promise.resolve()

  const domains = mailgunDomains()

  async function take(request: IncomingMessage): Promise<Given> {
    const body = await buffer(request)
    const [user, password] = logInOf(request)
    if (user !== 'api' || password !== apiKey) throw new Refused(401, 'Forbidden')
    const known = await domains.answer(request, body)
    if (known) return known
    const [, domain, kind] = /^\/v3\/([^/]+)\/messages(\.mime)?$/.exec(request.url ?? '') ?? []
    if (request.method !== 'POST' || !domain) throw new Refused(404, 'Not Found')
    if (body.length > MOST_BYTES) throw new Refused(413, 'Request entity too large')
    const type = request.headers['content-type'] ?? ''
    if (!type.startsWith('multipart/form-data'))
      throw new Refused(400, 'Content-Type must be multipart/form-data')
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
    const to = recipientsOf(form)
    if (kind) checkMime(form)
    else checkMessage(form, to, domain)
    const call = { path: request.url ?? '', to, bytes: body.length, form }
    await gate
    const given = await answer?.(to)
    if (keeps && (given === undefined || given?.status === 200)) calls.push(call)
    else if (keeps) refused.push(call)
    if (given === null) return new Promise(() => undefined)
    if (given && given.status !== 200) return given
    return { status: 200, message: 'Queued. Thank you.' }
  }

  const respond = (response: ServerResponse, { status, message, json }: Given) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    if (json) {
      response.end(JSON.stringify(json))
      return
    }
    const id = `<20260304050607.${calls.length}.${process.pid}@mailgun.example>`
    response.end(JSON.stringify(status === 200 ? { id, message, items: [], total_count: 0 } : { message }))
  }

  const server = createServer((request, response) => {
    take(request).then(
      (given) => respond(response, given),
      (error: unknown) => {
        const isKnown = error instanceof Refused
        respond(response, { status: isKnown ? error.status : 500, message: String(error) })
      },
    )
  })
  const port = await listen(server)
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    port,
    env: { MAIL_PROVIDER: 'mailgun', MAILGUN_API_KEY: apiKey, MAILGUN_URL: url },
    calls,
    refused,
    domains,
    /** The messages of calls, by default of all that were accepted, as their recipients read them. */
    messages: async (of = calls): Promise<MailgunMessage[]> => (await Promise.all(of.map(messagesOf))).flat(),
    /** Addresses of all recipients, as often as they were accepted. */
    recipients: () => calls.flatMap(({ to }) => to),
    /** From now on no call is answered until the function that this returns is called. */
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return resolve
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function logInOf(request: IncomingMessage): string[] {
  const [, coded = ''] = /^Basic (\S+)$/.exec(request.headers.authorization ?? '') ?? []
  return Buffer.from(coded, 'base64').toString().split(':')
}

const fieldOf = (form: FormData, name: string): string => {
  const value = form.get(name)
  return typeof value === 'string' ? value : ''
}

function recipientsOf(form: FormData): string[] {
  const specs = form.getAll('to').flatMap((value) => String(value).split(','))
  if (specs.length === 0) throw new Refused(400, 'to parameter is missing')
  const addresses = specs.map((spec) => /<([^<>]*)>\s*$/.exec(spec)?.[1] ?? spec.trim())
  if (!addresses.every((address) => ADDRESS.test(address))) {
    throw new Refused(400, "'to' parameter is not a valid address. please check documentation")
  }
  if (addresses.length > MOST_RECIPIENTS) throw new Refused(400, 'Too many recipients, max is 1000')
  return addresses
}

function checkMime(form: FormData): void {
  if (!(form.get('message') instanceof Blob)) throw new Refused(400, 'message parameter is missing')
}

function checkMessage(form: FormData, to: string[], domain: string): void {
  const from = fieldOf(form, 'from')
  const sender = /<([^<>]*)>\s*$/.exec(from)?.[1] ?? from.trim()
  if (!ADDRESS.test(sender))
    throw new Refused(400, "'from' parameter is not a valid address. please check documentation")
  if (!sender.endsWith(`@${domain}`)) throw new Refused(400, `Sender is not of ${domain}`)
  if (!form.has('html') && !form.has('text')) {
    throw new Refused(400, "Need at least one of 'text' or 'html' parameters specified")
  }
  for (const [name, value] of form) {
    const isKnown = /^(?:from|to|subject|html|text|recipient-variables|[hvo]:[\w-]+)$/.test(name)
    if (!isKnown || typeof value !== 'string') throw new Refused(400, `Unknown parameter ${name}`)
    if (name.startsWith('h:') && /[\r\n]/.test(value))
      throw new Refused(400, `${name} has more than one line`)
  }
  const variables = variablesOf(form)
  // Everybody would see the addresses of all.
  if (to.length > 1 && to.some((address) => !variables[address])) {
    throw new Refused(400, 'A recipient has no variables')
  }
  if (new Set(to).size < to.length) throw new Refused(400, 'A recipient is named twice')
}

type Variables = Record<string, Record<string, string>>

function variablesOf(form: FormData): Variables {
  try {
    const variables: Variables = JSON.parse(fieldOf(form, 'recipient-variables') || '{}')
    const isRight = Object.values(variables).every((own) => typeof own === 'object' && own !== null)
    if (isRight) return variables
  } catch {
    // Answered below.
  }
  throw new Refused(400, "'recipient-variables' parameter is not a valid JSON dictionary")
}

async function messagesOf({ path, to, form }: MailgunCall): Promise<MailgunMessage[]> {
  if (path.endsWith('.mime')) return [await mimeMessage(to, form)]
  const variables = variablesOf(form)
  const own = (prefix: string) => [...form].filter(([name]) => name.startsWith(prefix))
  return to.map((address) => {
    const fill = (text: string) => filled(text, address, variables[address] ?? {})
    const named = (prefix: string) =>
      Object.fromEntries(
        own(prefix).map(([name, value]) => [name.slice(2).toLowerCase(), fill(String(value)).trim()]),
      )
    return {
      to: address,
      subject: fill(fieldOf(form, 'subject')),
      html: fill(fieldOf(form, 'html')),
      text: fill(fieldOf(form, 'text')),
      headers: { from: fieldOf(form, 'from'), ...named('h:') },
      variables: named('v:'),
    }
  })
}

/** One variable after the other, over what the ones before have brought: a careless value is read as a variable. */
function filled(text: string, address: string, own: Record<string, string>): string {
  const common = {
    recipient: address,
    recipient_email: address,
    unsubscribe_url: 'https://mailgun.example/unsubscribe',
  }
  let result = text
  for (let pass = 0; pass < 2; pass += 1) {
    for (const [name, value] of Object.entries(own))
      result = result.replaceAll(`%recipient.${name}%`, () => value)
    for (const [name, value] of Object.entries(common)) result = result.replaceAll(`%${name}%`, () => value)
  }
  return result
}

async function mimeMessage(to: string[], form: FormData): Promise<MailgunMessage> {
  const file = form.get('message')
  const {
    subject = '',
    html = '',
    text = '',
    headers,
  } = await PostalMime.parse(file instanceof Blob ? await file.arrayBuffer() : '')
  return {
    ...{ to: to[0] ?? '', subject, html, text, variables: {} },
    headers: Object.fromEntries(headers.map(({ key, value }) => [key, value])),
  }
}
