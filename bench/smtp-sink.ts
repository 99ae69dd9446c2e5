import { SMTPServer } from 'smtp-server'

/**
 * A real SMTP server that reads every message and keeps none. Run as a process of its own; it prints its port,
 * then answers each line "count" on standard input with how many messages have come, and when (epoch ms).
 */
let count = 0
let first = 0
let last = 0

const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['AUTH', 'STARTTLS'],
  disableReverseLookup: true,
  logger: false,
  onData(stream, _session, callback) {
    stream.on('end', () => {
      count += 1
      last = Date.now()
      if (count === 1) first = last
      callback()
    })
    stream.resume()
  },
})

server.listen(0, '127.0.0.1', () => {
  const address = server.server.address()
  console.log(JSON.stringify({ port: typeof address === 'object' && address ? address.port : 0 }))
})

process.stdin.setEncoding('utf8')
process.stdin.on('data', (line: string) => {
  if (line.includes('reset')) {
    count = 0
    first = 0
  }
  console.log(JSON.stringify({ count, first, last }))
})
process.stdin.on('end', () => process.exit(0))
