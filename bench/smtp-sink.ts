import { startSmtpServer } from '../test/support/mail-sink.ts'
import { countArrivals } from './arrivals.ts'

/** A real SMTP server that reads every message and keeps none. Run as a process of its own; see `countArrivals`. */
const { port } = await startSmtpServer({
  disabledCommands: ['AUTH', 'STARTTLS'],
  onData(stream, { envelope }, callback) {
    stream.on('end', () =>
      arrivals.take([envelope.rcptTo[0]?.address ?? '']).then(() => callback(), callback),
    )
    stream.resume()
  },
})

const arrivals = countArrivals({ port })
