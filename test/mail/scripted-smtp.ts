import { createServer, type Socket } from 'node:net'

/** What the server does in place of its usual reply at one point of the conversation. */
export type Behaviour = string | 'drop' | 'hang' | 'trickle'

/** The points: the first four letters of a command, `greeting`, `body` (while the message comes in) and `end` (after it). */
export type Script = Partial<
  Record<
    'greeting' | 'EHLO' | 'HELO' | 'STAR' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'body' | 'end',
    Behaviour
  >
>

const usual: Record<string, string> = {
  greeting: '220 scripted ESMTP',
  EHLO: '250-scripted\r\n250 AUTH PLAIN',
  AUTH: '235 ok',
  DATA: '354 go on',
  QUIT: '221 bye',
}

export type ScriptedSmtp = Awaited<ReturnType<typeof startScriptedSmtp>>

/** An SMTP server on loopback that misbehaves as it is told; `script` may change while it runs. */
export async function startScriptedSmtp(script: Script, port = 0) {
  const sockets = new Set<Socket>()
  const seen = { connections: 0, commands: [] as string[] }
  let lastClosed = () => {}

  const server = createServer((socket) => {
    sockets.add(socket)
    seen.connections += 1
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      sockets.delete(socket)
      if (sockets.size === 0) lastClosed()
    })
    const behaveAt = (point: string) => {
      const told = Object.entries(script).find(([name]) => name === point)?.[1]
      const behaviour = told ?? usual[point] ?? '250 ok'
      behave(socket, behaviour)
      return behaviour
    }
    converse(socket, seen.commands, behaveAt, () => script.body !== undefined)
    behaveAt('greeting')
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port')
  const dropAll = () => {
    for (const socket of sockets) socket.destroy()
  }

  return {
    url: `smtp://127.0.0.1:${address.port}`,
    port: address.port,
    script,
    seen,
    dropAll,
    /** Resolves once no client is connected any more. */
    deserted: () =>
      new Promise<void>((resolve) => {
        lastClosed = resolve
        if (sockets.size === 0) resolve()
      }),
    /** May be called again. */
    stop: async () => {
      dropAll()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function behave(socket: Socket, behaviour: Behaviour): void {
  if (behaviour === 'drop') socket.destroy()
  else if (behaviour === 'trickle') {
    const trickle = setInterval(() => socket.write('250-still here\r\n'), 20)
    socket.on('close', () => clearInterval(trickle))
  } else if (behaviour !== 'hang') socket.write(`${behaviour}\r\n`)
}

function converse(
  socket: Socket,
  commands: string[],
  behaveAt: (point: string) => Behaviour,
  disturbed: () => boolean,
): void {
  let unread = ''
  let inMessage = false
  socket.on('data', (chunk) => {
    unread += chunk.toString('latin1')
    if (inMessage && disturbed()) {
      behaveAt('body')
      return
    }
    for (;;) {
      const end = unread.indexOf(inMessage ? '\r\n.\r\n' : '\r\n')
      if (end < 0) return
      const command = inMessage ? 'end' : unread.slice(0, end)
      const point = inMessage ? 'end' : command.slice(0, 4).toUpperCase()
      unread = unread.slice(end + (inMessage ? 5 : 2))
      commands.push(command)
      inMessage = behaveAt(point).startsWith('354')
      // A message may be a single dot.
      if (inMessage) unread = `\r\n${unread}`
    }
  })
}
