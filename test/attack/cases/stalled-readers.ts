import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Attack, Target } from '../define-attack.ts'
import { isEnded } from '../is-ended.ts'

const CONNECTIONS = 200
/** Longer than a client may take nothing of its answer. */
const WAIT_MS = 34_000

/** Asks for a page of more than both kernels keep for such a client, and takes nothing of it. */
async function stall({ host, port }: Target): Promise<Socket> {
  const socket = connect(port, host)
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.pause()
  socket.write('GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(40))
  return socket
}

export const stalledReaders: Attack = {
  name: 'readers that stall',
  before: '50 of 50 were open after 360 s',
  run: async (target) => {
    const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => stall(target)))
    await pause(WAIT_MS)
    const ended = (await Promise.all(sockets.map(isEnded))).filter(Boolean).length
    return `${ended} of ${CONNECTIONS} were ended within ${WAIT_MS / 1000} s`
  },
}
