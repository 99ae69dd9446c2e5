import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Attack, Target } from '../define-attack.ts'
import { isEnded } from '../is-ended.ts'

const CONNECTIONS = 12
const REQUESTS_EACH = 1_200
const LOOKS_MS = 15_000

/** Writes requests one after the other and reads nothing of the answers. */
async function flood({ host, port }: Target): Promise<() => Promise<boolean>> {
  const socket = connect(port, host)
  // A reset is what the service does to such a client.
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.pause()
  socket.write('GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(REQUESTS_EACH))
  return () => isEnded(socket)
}

export const openApiFlood: Attack = {
  name: 'openapi: pipelined requests whose answers nobody reads',
  before: 'ended with an exhausted heap',
  run: async (target) => {
    const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => flood(target)))
    await pause(LOOKS_MS, undefined, { signal: target.signal })
    const ended = (await Promise.all(sockets.map((isEnded) => isEnded()))).filter(Boolean).length
    return `${ended} of ${CONNECTIONS} connections were ended`
  },
}
