import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

type Delivered = { from: string; to: string[]; raw: Buffer }

/** An SMTP server on loopback that takes every message and keeps it. */
export async function startSink(options: SMTPServerOptions = {}) {
  const delivered: Delivered[] = []
  const sessions = new Set<string>()
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    hideSTARTTLS: true,
    closeTimeout: 10,
    logger: false,
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        sessions.add(session.id)
        const { mailFrom, rcptTo } = session.envelope
        delivered.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks),
        })
        done(null, `2.0.0 Ok: queued as Q${delivered.length}`)
      })
    },
    ...options,
  })
  // A client that gives up is what some tests are about.
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port')
  return {
    port: address.port,
    host: `127.0.0.1:${address.port}`,
    url: `smtp://127.0.0.1:${address.port}`,
    delivered,
    sessions,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
