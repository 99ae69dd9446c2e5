import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const LOOK_MS = 2_000

/** Whether the service has ended a connection that was not read from; then it is closed. What is left of it is read. */
export async function isEnded(socket: Socket): Promise<boolean> {
  socket.resume()
  if (!socket.destroyed) await Promise.race([once(socket, 'close').catch(() => null), pause(LOOK_MS)])
  const ended = socket.destroyed
  socket.destroy()
  return ended
}
