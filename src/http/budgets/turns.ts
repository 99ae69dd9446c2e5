import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that may wait on a connection for the one before them; clients that pipeline send a few. */
const MAX_WAITING = 64
/** Bytes of waiting requests above which nothing more is read from the connection. */
const MAX_WAITING_BYTES = 64 * 1024

type Turn = { request: IncomingMessage; response: ServerResponse }
type Connection = { busy: boolean; waiting: Turn[]; waitingBytes: number; isHeld: boolean }

/**
 * Serves the requests of a connection one after the other. Node reads and parses requests as they arrive,
 * whether or not the client reads their answers. So at most one answer is prepared for a client, waiting
 * requests above MAX_WAITING_BYTES are not read, and a client with more than MAX_WAITING waiting requests is
 * cut off.
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
    // Requests that were read before the client was cut off are still being parsed.
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
    const connection: Connection = { busy: false, waiting: [], waitingBytes: 0, isHeld: false }
    this.#connections.set(socket, connection)
    // Node resumes a socket whenever it has parsed a request or sent an answer. It is told so a moment later, when the
    // socket may have been paused already: then it is read from all the same, and only a socket that flows can be paused.
    socket.on('resume', () => {
      if (!connection.isHeld) return
      if (socket.isPaused()) socket.resume()
      else socket.pause()
    })
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
    this.#holdOrRelease(socket, connection)
    this.#begin(connection, turn)
  }

  #queue(socket: Socket, connection: Connection, turn: Turn): void {
    const { waiting } = connection
    waiting.push(turn)
    connection.waitingBytes += sizeOf(turn.request)
    if (waiting.length <= MAX_WAITING) return void this.#holdOrRelease(socket, connection)
    connection.waiting = []
    socket.destroy()
  }

  #holdOrRelease(socket: Socket, connection: Connection): void {
    const wasHeld = connection.isHeld
    connection.isHeld = connection.waitingBytes > MAX_WAITING_BYTES
    if (connection.isHeld) socket.pause()
    else if (wasHeld) socket.resume()
  }
}

/**
 * Bytes that a waiting request keeps in memory. Node stops reading a body at this size when its reader does
 * not.
 */
function sizeOf({ url = '', rawHeaders, headers }: IncomingMessage): number {
  const head = rawHeaders.reduce((sum, text) => sum + text.length, url.length)
  const body = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity
  return head + Math.min(body, MAX_WAITING_BYTES)
}
