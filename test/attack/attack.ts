import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { startEmbeddedPostgres } from '../../src/db/embedded/embedded-postgres.ts'
import { openBackstage } from '../support/backstage.ts'
import { startMailSink } from '../support/mail-sink.ts'
import type { Project } from '../support/service.ts'
import { endProcess, ownPort, startProcess } from '../support/service-process.ts'
import { attacks } from './attacks.ts'
import type { Attack } from './define-attack.ts'
import type { Observed, Watched } from './observer.ts'

/*
 * Attacks the service as strangers and hostile tenants would, each case on a process of its own with 1 GB of heap, while
 * an honest project sends:
 *
 *   npm run attack              all cases
 *   npm run attack -- graphql   those with this in their names
 *
 * Loopback only; it ends by itself, with status 1 when a case passes what is allowed.
 */
const HEAP_MB = 1_024
const MAX_MEMORY_MB = 700
const MAX_LIVE_P99_MS = 250
const ATTACK_MS = 30_000
/** What the service does by itself before and after an attack. */
const SETTLE_MS = 1_000

async function startWorld() {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'mailwright-attack-'))
  const sink = await startMailSink()
  const postgres = await startEmbeddedPostgres({ dataDir: path.join(dataDir, 'postgres') })
  const env = {
    ...{ DATA_DIR: dataDir, DATABASE_URL: postgres.url, JWT_SECRET: randomBytes(32).toString('hex') },
    ...{ MAIL_PROVIDER: 'smtp', SMTP_URL: sink.url, PORT: String(await ownPort()) },
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
  }
  const backstage = await openBackstage({ ...env, PORT: String(await ownPort()) })
  const unlimited = { requestsPerMinute: 0, sendsPerSecond: 0 }
  const projects = {
    honest: await backstage.newProject(unlimited),
    tenant: await backstage.newProject(),
    unlimited: await backstage.newProject(unlimited),
    bystander: await backstage.newProject(unlimited),
  }
  await backstage.stop()
  const stop = async () => {
    await postgres.stop()
    await sink.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
  return { env, projects, stop }
}

type World = Awaited<ReturnType<typeof startWorld>>

function watch(url: string, pid: number, honest: Project) {
  const workerData: Watched = { url, pid, key: honest.secret, from: `honest@${honest.domain}` }
  const worker = new Worker(new URL('./observer.ts', import.meta.url), { workerData })
  return async (): Promise<Observed> => {
    const told = once(worker, 'message')
    worker.postMessage('end')
    const [observed] = await told
    await worker.terminate()
    return observed
  }
}

/** Runs one attack and returns whether the service stood it. */
async function runAttack({ env, projects }: World, attack: Attack): Promise<boolean> {
  const service = await startProcess({ ...env, ...attack.env })
  try {
    const stopWatching = watch(service.url, service.pid, projects.honest)
    await pause(SETTLE_MS)
    const { tenant, unlimited, bystander } = projects
    const signal = AbortSignal.timeout(ATTACK_MS)
    const port = Number(env.PORT)
    const databaseUrl = env.DATABASE_URL
    const target = {
      url: service.url,
      host: '127.0.0.1',
      port,
      databaseUrl,
      tenant,
      unlimited,
      bystander,
      signal,
    }
    const seen = await attack.run(target)
    await pause(SETTLE_MS)
    const observed = await stopWatching()
    const isUp = service.isRunning()
    const holds = isUp && isWithinLimits(observed)
    console.log(
      `| ${attack.name} | ${attack.before} | ${told(observed, isUp)} | ${seen} | ${holds ? 'holds' : 'FAILS'} |`,
    )
    return holds
  } finally {
    await endProcess(service)
  }
}

const isWithinLimits = ({ peakMemoryMb, liveP99Ms, liveFailed, sendsFailed }: Observed): boolean =>
  peakMemoryMb < MAX_MEMORY_MB && liveP99Ms < MAX_LIVE_P99_MS && liveFailed === 0 && sendsFailed === 0

function told(observed: Observed, isUp: boolean): string {
  const { peakMemoryMb, liveP99Ms, liveFailed, sends, sendsFailed, sendP95Ms } = observed
  const live = `live p99 ${Math.round(liveP99Ms)} ms${liveFailed > 0 ? `, ${liveFailed} failed` : ''}`
  const honest = `honest sends ${sends - sendsFailed} of ${sends}, p95 ${Math.round(sendP95Ms)} ms`
  return `${isUp ? '' : 'ENDED; '}${Math.round(peakMemoryMb)} MB; ${live}; ${honest}`
}

const wanted = process.argv.slice(2)
const chosen = attacks.filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
if (chosen.length === 0)
  throw new Error(`There is no such case. Cases: ${attacks.map(({ name }) => name).join('; ')}`)

const world = await startWorld()
let stood = true
try {
  console.log('| Attack | Before | Observed | Seen by the attacker | |\n|---|---|---|---|---|')
  for (const attack of chosen) stood = (await runAttack(world, attack)) && stood
} finally {
  await world.stop()
}
process.exitCode = stood ? 0 : 1
