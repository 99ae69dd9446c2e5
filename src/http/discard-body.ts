import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream/promises'

/** Most bytes of an unwanted body that are read and dropped; after them the connection is cut. */
const MAX_DISCARDED_BYTES = 256 * 1024 * 1024

/** Whether the sender is still sending a body, or may be. */
export const isReceiving = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

/**
 * Takes the rest of the body off the wire. Closing a connection with unread data resets it, and the client
 * could lose the answer that says what was wrong. Never fails.
 */
export async function discardBody(request: IncomingMessage): Promise<void> {
  if (request.readableEnded || request.destroyed) return
  let size = 0
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > MAX_DISCARDED_BYTES) request.destroy()
  })
  // A client that has left is no failure: no one waits for the answer.
  await finished(request, { writable: false }).catch(() => undefined)
}
