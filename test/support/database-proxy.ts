import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A way to the database that a test can cut. */
export type DatabaseProxy = {
  /** The database's address, through the proxy. */
  through: (databaseUrl: string) => string
  /** Refuses connections, and breaks those that are there. */
  cut: () => Promise<void>
  mend: () => Promise<void>
  /** Keeps every connection open and lets nothing pass, until it is mended. */
  stall: () => void
  /** Breaks every connection, and takes new ones without letting anything pass, until it is mended. */
  hang: () => void
  stop: () => Promise<void>
}

export async function databaseProxy(serverUrl: string): Promise<DatabaseProxy> {
  const { hostname, port: databasePort } = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let stalled = false
  const server = createServer((client) => {
    const upstream = connect({ host: hostname, port: Number(databasePort) })
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => stalled || to.write(chunk))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const breakAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  const cut = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    breakAll()
    await closed
  }
  return {
    through: (databaseUrl) => {
      const url = new URL(databaseUrl)
      url.host = `127.0.0.1:${port}`
      return url.href
    },
    cut,
    mend: async () => {
      if (stalled) breakAll()
      stalled = false
      if (!server.listening) await listen(port)
    },
    stall: () => {
      stalled = true
    },
    hang: () => {
      stalled = true
      breakAll()
    },
    stop: cut,
  }
}
