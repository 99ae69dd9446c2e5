import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Attack, Target } from '../define-attack.ts'

const CONNECTIONS = 5_000
const HOLD_MS = 10_000
/** Another address than that of the honest project; all of 127.0.0.0/8 is this machine. */
const ADDRESS = '127.0.0.66'

/** Opens a connection, says little and stays. */
function open({ host, port }: Target, state: { open: number }) {
  const socket = connect({ port, host, localAddress: ADDRESS })
  socket.on('error', () => {})
  socket.on('connect', () => {
    state.open += 1
    socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n')
  })
  socket.on('close', (broken) => {
    if (!broken || socket.bytesWritten > 0) state.open -= 1
  })
  return socket
}

export const manyConnections: Attack = {
  name: 'connections from one address',
  before: 'all of them were open',
  env: { TRUSTED_PROXIES: '192.0.2.1' },
  run: async (target) => {
    const state = { open: 0 }
    const sockets = Array.from({ length: CONNECTIONS }, () => open(target, state))
    await pause(HOLD_MS, undefined, { signal: target.signal })
    const left = state.open
    for (const socket of sockets) socket.destroy()
    return `${left} of ${CONNECTIONS} were open after ${HOLD_MS / 1000} s`
  },
}
