import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { isReceiving } from './discard-body.ts'
import { newRequestId } from './exchange.ts'

type Options = { log: Logger; now: () => Date }
type Refusal = { status: number; code: string }

/** How long a refused client may go on sending: a connection that is cut at once may lose the answer. */
const LINGER_MS = 5_000

const REFUSALS: Record<string, Refusal> = {
  HPE_HEADER_OVERFLOW: { status: 431, code: 'BAD_REQUEST' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, code: 'PAYLOAD_TOO_LARGE' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: 'BAD_REQUEST' },
}

/** Answers what Node cannot parse, or would hang up on, in the same envelope as everything else. */
export function answerBrokenRequests(server: Server, options: Options): void {
  const latest = new WeakMap<Duplex, { request: IncomingMessage; response: ServerResponse }>()
  const unanswered = new WeakMap<Duplex, Set<ServerResponse>>()
  const refuse = (socket: Duplex, refusal: Refusal) => {
    if (socket.writable) socket.end(rawAnswer(refusal, options.now()))
    linger(socket)
  }
  server.on('request', (request, response) => {
    const { socket } = request
    latest.set(socket, { request, response })
    const responses = unanswered.get(socket) ?? new Set()
    unanswered.set(socket, responses.add(response))
    response.once('close', () => responses.delete(response))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    options.log.debug({ code: error.code }, 'a request was not valid HTTP')
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
    const refusal = REFUSALS[error.code ?? ''] ?? { status: 400, code: 'BAD_REQUEST' }
    const current = latest.get(socket)
    if (!current || current.response.closed) return refuse(socket, refusal)
    const before = [...(unanswered.get(socket) ?? [])].filter((response) => response !== current.response)
    // It waits for its turn, and its further bytes are left on the wire.
    if (before.length > 0 && error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return
    // An answer of now would stand in the middle of another one.
    if (before.length > 0 && isReceiving(current.request)) {
      return void before.at(-1)?.once('close', () => socket.destroy())
    }
    // A request came before, and is still being answered.
    if (!isReceiving(current.request)) current.response.once('close', () => refuse(socket, refusal))
    else if (current.response.headersSent) socket.destroy()
    else refuse(socket, refusal)
  })
  // Without a listener Node closes the connection.
  server.on('connect', (_request, socket) => {
    const refuseConnect = () => refuse(socket, { status: 405, code: 'METHOD_NOT_ALLOWED' })
    const [last] = [...(unanswered.get(socket) ?? [])].toReversed()
    if (last) last.once('close', refuseConnect)
    else refuseConnect()
  })
}

/** The time is fixed, however much arrives meanwhile. */
function linger(socket: Duplex): void {
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

/** Written by hand, because there is no response object. */
function rawAnswer({ status, code }: Refusal, now: Date): string {
  const reason = STATUS_CODES[status] ?? 'Bad Request'
  const requestId = newRequestId()
  const message = `The request is not valid HTTP for this server: ${reason}.`
  const body = JSON.stringify({
    success: false,
    error: { code, message, statusCode: status, requestId },
    timestamp: now.toISOString(),
  })
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    ...(status === 405 ? ['allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'] : []),
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
