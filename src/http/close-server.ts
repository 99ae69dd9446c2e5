import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'

/**
 * How often a kept-alive connection is looked at for one more request, whose answer then tells its client to
 * leave. It is a number of looks, not a time, so that a busy machine ends no request unread.
 */
const GOODBYE_LOOKS = 10
const LOOK_MS = 10
/** How long requests under way may take to end. */
const REQUESTS_MS = 10_000

export type RequestsUnderWay = {
  follow: (response: ServerResponse) => void
  close: () => Promise<void>
}

/**
 * Follows the open requests of a server. `close` closes the server without cutting off a request: each is
 * answered, and each answer closes its connection, because a kept-alive one would bring more and more
 * requests.
 */
export function requestsUnderWay(server: Server): RequestsUnderWay {
  const underWay = new Set<ServerResponse>()
  let closing = false
  const follow = (response: ServerResponse) => {
    if (closing) response.setHeader('connection', 'close')
    underWay.add(response)
    response.once('close', () => underWay.delete(response))
  }
  const close = async () => {
    closing = true
    for (const response of underWay) if (!response.headersSent) response.setHeader('connection', 'close')
    const closed = once(server, 'close')
    // Right after the connections that wait have been accepted: the rest of them would be reset.
    await nextTurn()
    // An HTTP server's own close also ends idle connections, on which a request may be on its way.
    NetServer.prototype.close.call(server)
    for (let looks = 0; looks < GOODBYE_LOOKS; looks += 1) await pause(LOOK_MS)
    // A stream of events has no end of its own; its client connects again, elsewhere.
    for (const response of underWay) if (isEventStream(response)) response.destroy()
    const deadline = Date.now() + REQUESTS_MS
    while (underWay.size > 0 && Date.now() < deadline) await pause(LOOK_MS)
    server.close()
    server.closeAllConnections()
    await closed
  }
  return { follow, close }
}

const isEventStream = (response: ServerResponse): boolean =>
  String(response.getHeader('content-type')).startsWith('text/event-stream')
