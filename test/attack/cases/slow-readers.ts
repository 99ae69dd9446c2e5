import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Attack, Target } from '../define-attack.ts'

const READERS = 20
const EVENTS = 100
const DATA = { text: 'x'.repeat(60_000) }
const EVERY_MS = 1_000
/** As Retry-After says. */
const AGAIN_MS = 5_000
const TRIES = 7

async function track({ url, unlimited }: Target): Promise<void> {
  const headers = { authorization: `Bearer ${unlimited.secret}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ email: 'slow@example.org', event: 'large', data: DATA })
  const answer = await fetch(`${url}/events/track`, { method: 'POST', headers, body })
  await answer.arrayBuffer()
}

/** Asks for 6 MB and takes some kilobytes of it a second, so that it is never idle. */
async function read({ host, port, unlimited }: Target): Promise<Socket> {
  const socket = connect(port, host)
  socket.on('error', () => {})
  await once(socket, 'connect')
  const head = `GET /events?limit=100 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${unlimited.secret}`
  socket.write(`${head}\r\n\r\n`)
  socket.on('data', () => {
    socket.pause()
    setTimeout(() => socket.resume(), EVERY_MS)
  })
  return socket
}

/** How often the same is refused to a reader who takes it at once, who tries again each time. */
async function refusals({ url, unlimited }: Target): Promise<number> {
  const headers = { authorization: `Bearer ${unlimited.secret}` }
  for (let refused = 0; refused < TRIES; refused += 1) {
    const answer = await fetch(`${url}/events?limit=100`, { headers }).catch(() => null)
    await answer?.arrayBuffer().catch(() => null)
    if (answer?.status === 200) return refused
    await pause(AGAIN_MS)
  }
  return TRIES
}

export const slowReaders: Attack = {
  name: 'readers that take a little of large answers now and then',
  before: 'the project was refused large answers for as long as they liked',
  run: async (target) => {
    for (let index = 0; index < EVENTS; index += 10) {
      await Promise.all(Array.from({ length: 10 }, () => track(target)))
    }
    const sockets = await Promise.all(Array.from({ length: READERS }, () => read(target)))
    await pause(EVERY_MS)
    const began = performance.now()
    const refused = await refusals(target)
    const seconds = Math.round((performance.now() - began) / 1_000)
    for (const socket of sockets) socket.destroy()
    return `a quick reader was refused ${refused} times and answered after ${seconds} s`
  },
}
