import { createTransport } from 'nodemailer'
import { BENCH_DOMAIN, startBenchDatabase } from './bench-database.ts'
import { startServiceProcess, startTalker } from './processes.ts'

/**
 * Messages per second that the SMTP door takes, each answered after its commit, beside a bare smtp-server that reads the same
 * messages from the same client and keeps none, and the processor time of the door's process for one. Each is measured for the
 * same time, `--seconds N`, 30 by default, after a third of it to warm up. Loopback only; it ends by itself.
 */
const SECONDS = Number(process.argv[process.argv.indexOf('--seconds') + 1] || 30)
const CONNECTIONS = 16
/** Whatever hangs, the bench ends. */
const LONGEST_MS = (SECONDS * 4 + 60) * 1_000
const PORT = 42_587
const HTML = `<h1>Hello Ada</h1>${'<p>Your order has been shipped and will be with you soon.</p>'.repeat(10)}`

async function rateOf(port: number, key: string | null, cpuSeconds = () => 0) {
  const transport = createTransport({
    host: '127.0.0.1',
    port,
    pool: true,
    maxConnections: CONNECTIONS,
    maxMessages: Number.POSITIVE_INFINITY,
    ignoreTLS: true,
    ...(key !== null && { auth: { user: 'mailwright', pass: key } }),
  })
  let sent = 0
  const send = async () => {
    sent += 1
    await transport.sendMail({
      from: `a@${BENCH_DOMAIN}`,
      to: `door${sent}@example.org`,
      subject: 'Shipped',
      html: HTML,
      text: 'Hello Ada. Your order has been shipped and will be with you soon.',
    })
  }
  /** Messages per second. */
  const sendFor = async (seconds: number) => {
    const began = performance.now()
    const before = sent
    const endsAt = began + seconds * 1_000
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        while (performance.now() < endsAt) await send()
      }),
    )
    return ((sent - before) / (performance.now() - began)) * 1_000
  }
  await sendFor(SECONDS / 3)
  const before = { sent, cpu: cpuSeconds() }
  const rate = await sendFor(SECONDS)
  const cpuMs = ((cpuSeconds() - before.cpu) / (sent - before.sent)) * 1_000
  transport.close()
  return { rate, cpuMs }
}

const tooLong = setTimeout(() => {
  console.error(`The bench did not end within ${LONGEST_MS / 1_000} seconds.`)
  process.exit(1)
}, LONGEST_MS)
tooLong.unref()
const database = await startBenchDatabase()
const { talker: sink, hello } = await startTalker('bench/smtp-sink.ts')
try {
  const { rate: bare } = await rateOf(hello.port ?? 0, null)
  const env = await database.env({
    ROLES: 'http,smtp',
    SMTP_DOOR_PORT: String(PORT),
  })
  const service = await startServiceProcess(env)
  const { rate, cpuMs } = await rateOf(PORT, database.project.secret, service.cpuSeconds)
  const peak = service.peakMemory()
  console.log('| | messages/s | beside the bare server | CPU a message | memory |\n|---|---|---|---|---|')
  console.log(`| bare smtp-server | ${Math.round(bare)} | 1.00 | | |`)
  console.log(
    `| SMTP door | ${Math.round(rate)} | ${(rate / bare).toFixed(2)} | ${cpuMs.toFixed(2)} ms | ${Math.round(peak)} MB |`,
  )
  await service.stop()
} finally {
  await sink.stop()
  await database.stop()
}
