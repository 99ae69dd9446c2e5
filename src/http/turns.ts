import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that may wait on a connection for the one before them; clients that pipeline send a few. */
const MAX_WAITING = 64
/** What they may bring together, in bytes. One alone may have any size: its body is not read before its turn. */
const MAX_WAITING_BYTES = 64 * 1024

type Turn = { request: IncomingMessage; response: ServerResponse }
type Connection = { busy: boolean; waiting: Turn[]; waitingBytes: number }

/**
 * Serves the requests of a connection one after the other. Node reads and parses requests for as long as they come,
 * whether or not anybody reads their answers; so what a client can have made ready for it is one answer, and who
 * sends more ahead than MAX_WAITING is cut off.
 */
export class Turns {
  readonly #serve: (request: IncomingMessage, response: ServerResponse) => void
  readonly #connections = new WeakMap<Socket, Connection>()

  constructor(serve: (request: IncomingMessage, response: ServerResponse) => void) {
    this.#serve = serve
  }

  /** Serves the request at once, or when those before it are answered. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    // What was read before the client was cut off is still being parsed.
    if (!socket.writable) return
    const connection = this.#connectionOf(socket)
    if (connection.busy) this.#queue(socket, connection, { request, response })
    else this.#begin(connection, { request, response })
  }

  /** Whether a request of the connection is being received or answered. */
  isBusy(socket: Socket): boolean {
    return this.#connections.get(socket)?.busy ?? false
  }

  #connectionOf(socket: Socket): Connection {
    const known = this.#connections.get(socket)
    if (known) return known
    const connection = { busy: false, waiting: [], waitingBytes: 0 }
    this.#connections.set(socket, connection)
    return connection
  }

  #begin(connection: Connection, { request, response }: Turn): void {
    connection.busy = true
    response.once('close', () => this.#next(request.socket, connection))
    this.#serve(request, response)
  }

  #next(socket: Socket, connection: Connection): void {
    connection.busy = false
    // The connection ends, with that answer or because the client has left.
    if (!socket.writable) connection.waiting = []
    const turn = connection.waiting.shift()
    if (!turn) return
    connection.waitingBytes -= sizeOf(turn.request)
    this.#begin(connection, turn)
  }

  #queue(socket: Socket, connection: Connection, turn: Turn): void {
    const { waiting } = connection
    waiting.push(turn)
    connection.waitingBytes += sizeOf(turn.request)
    if (
      waiting.length <= MAX_WAITING &&
      (waiting.length === 1 || connection.waitingBytes <= MAX_WAITING_BYTES)
    )
      return
    connection.waiting = []
    socket.destroy()
  }
}

/** What a request that waits keeps in memory, in bytes. Node stops reading a body that nobody takes at so many. */
function sizeOf({ url = '', rawHeaders, headers }: IncomingMessage): number {
  const head = rawHeaders.reduce((sum, text) => sum + text.length, url.length)
  const body = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity
  return head + Math.min(body, MAX_WAITING_BYTES)
}
