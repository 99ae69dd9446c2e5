import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startEmbeddedPostgres } from '../../src/db/embedded/embedded-postgres.ts'
import { provision } from '../support/backstage.ts'
import { startMailSink } from '../support/mail-sink.ts'
import { type Random, seeded } from '../support/seeded.ts'
import { callerOf, type Project } from '../support/service.ts'
import { endProcess, ownPort, type ServiceProcess, startProcess } from '../support/service-process.ts'
import { type Ledger, newLedger, runTraffic } from './chaos-traffic.ts'
import { judge } from './chaos-verdict.ts'

/*
 * Kills the service again and again while it is used, and looks for what was lost or done twice:
 *
 *   npm run chaos                  one process, 20 kills
 *   npm run chaos -- --skew        two processes whose clocks are a minute ahead and a minute behind
 *   npm run chaos -- --kills 3
 *
 * It ends by itself in less than four minutes, with status 1 when something is wrong. SEED=… gives the same moments.
 */
const { values: options } = parseArgs({
  options: { skew: { type: 'boolean', default: false }, kills: { type: 'string', default: '20' } },
})
const KILLS = Number(options.kills)
const CLOCKS_AHEAD_MS = options.skew ? [60_000, -60_000] : [0]
const LIFE_MS = { from: 300, to: 3_500 }
/** The service answers a message within this time, so that some are in flight when it is killed. */
const HOLD_MS = 20
/** Killing ends here at the latest, and waiting for quiet ends so much later. */
const KILLING_MS = 140_000
const RECOVERY_MS = 70_000
/** What a dead worker had is taken over after 10 to 15 seconds. */
const QUIET_MS = 16_000
const WHOLE_MS = 235_000

const CLOCK = path.join(import.meta.dirname, '..', 'support', 'skewed-clock.ts')

async function start() {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'mailwright-chaos-'))
  const sink = await startMailSink({ holdMs: HOLD_MS })
  const postgres = await startEmbeddedPostgres({ dataDir: path.join(dataDir, 'postgres') })
  const env = {
    ...{ DATA_DIR: dataDir, DATABASE_URL: postgres.url, JWT_SECRET: randomBytes(32).toString('hex') },
    ...{ MAIL_PROVIDER: 'smtp', SMTP_URL: sink.url },
    ...{ RATE_LIMIT_PER_MINUTE: '0', PROJECT_SEND_RATE_PER_SECOND: '0' },
  }
  const launches = await Promise.all(
    CLOCKS_AHEAD_MS.map(async (ahead) => ({
      ...env,
      PORT: String(await ownPort()),
      ...(ahead !== 0 && { NODE_OPTIONS: `--import=${CLOCK}`, CLOCK_AHEAD_MS: String(ahead) }),
    })),
  )
  const project = await provision({ ...env, PORT: String(await ownPort()) })
  const processes: ServiceProcess[] = []
  const stop = async () => {
    for (const process of processes) await endProcess(process)
    await postgres.stop()
    await sink.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
  return { launches, project, sink, processes, stop }
}

type Context = Awaited<ReturnType<typeof start>>

/** Kills one of the processes at a moment that chance gives, and starts it again; returns when it was killed. */
async function killOne({ launches, processes }: Context, random: Random): Promise<number> {
  await pause(random.between(LIFE_MS.from, LIFE_MS.to))
  const index = random.between(0, launches.length - 1)
  const killed = Date.now()
  await endProcess(processes[index])
  const launch = launches[index]
  if (launch) processes[index] = await startProcess(launch)
  return killed
}

const hasEnded = async (url: string, project: Project, importId: string): Promise<boolean> =>
  (await callerOf(url, project).get(`/contacts/import/${importId}`)).body.state === 'completed'

/** Waits until everything that was accepted is done and nothing arrives any more, for a while at most. */
async function quiet({ sink, project }: Context, ledger: Ledger, url: string): Promise<void> {
  const deadline = Date.now() + RECOVERY_MS
  const running = new Set(ledger.imports.accepted.values())
  for (let since = Date.now(), seen = -1; Date.now() < deadline; await pause(500)) {
    for (const id of running) if (await hasEnded(url, project, id)) running.delete(id)
    const isDone = running.size === 0 && sink.counts().size >= ledger.sends.accepted.size
    if (sink.arrivals.length !== seen || !isDone) since = Date.now()
    seen = sink.arrivals.length
    if (Date.now() - since > QUIET_MS) return
  }
}

async function run(context: Context, random: Random): Promise<boolean> {
  const { launches, processes, project, sink } = context
  const ledger = newLedger()
  const began = Date.now()
  for (const launch of launches) processes.push(await startProcess(launch))
  const stopping = new AbortController()
  const url = () => `http://127.0.0.1:${launches[random.between(0, launches.length - 1)]?.PORT}`
  const traffic = runTraffic({ project, ledger, random, url, stopped: stopping.signal })
  const kills: number[] = []
  while (kills.length < KILLS && Date.now() - began < KILLING_MS) kills.push(await killOne(context, random))
  stopping.abort()
  await traffic
  await quiet(context, ledger, url())
  const verdicts = await judge({ url: url(), project, ledger, arrivals: sink.arrivals, kills })
  const clocks = options.skew ? ', clocks a minute ahead and a minute behind' : ''
  console.log(`${kills.length} kills in ${Math.round((Date.now() - began) / 1000)} s${clocks}`)
  for (const { line } of verdicts) console.log(line)
  return verdicts.every(({ isGood }) => isGood)
}

const context = await start()
const watchdog = setTimeout(async () => {
  console.error('It takes too long.')
  await context.stop()
  process.exit(1)
}, WHOLE_MS)
try {
  await seeded(async (random) => {
    if (!(await run(context, random))) throw new Error('Something was lost or done twice.')
  })
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  clearTimeout(watchdog)
  await context.stop()
}
