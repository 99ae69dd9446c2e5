import { startBenchDatabase } from './bench-database.ts'
import { benchFilterJobs, benchHeavyReads, benchManySegments } from './tenants/audience.ts'
import { benchLargeMail, benchManyTenants, benchOldSnapshot, benchWorkers } from './tenants/mail.ts'
import { benchReset } from './tenants/reset.ts'
import { startWorld, type World } from './tenants/world.ts'

/**
 * Shows that nobody holds up anybody: each case beside the undisturbed figure of the same run. Loopback only, and ends
 * by itself. `-- mail` and the like run only the cases of that name.
 */
type Row = { scenario: string; undisturbed: string; measured: string; target: string }

const ms = (value: number) => `${Math.round(value)} ms`
const rate = (value: number) => `${Math.round(value)}/s`

const cases: Record<string, (world: World) => Promise<Row[]>> = {
  mail: async (world) => {
    const { alone, many, idle, sameProject } = await benchManyTenants(world)
    const fresh = (one: { p50: number; p95: number; missing: number }) =>
      `p50 ${ms(one.p50)}, p95 ${ms(one.p95)}${one.missing > 0 ? `, ${one.missing} late` : ''}`
    return [
      {
        scenario: '1,000 projects × 20 due beside one with 60,000: messages delivered',
        undisturbed: `one project alone ${rate(alone)}`,
        measured: `${rate(many.rate)} (${(many.rate / alone).toFixed(2)})`,
        target: '≥ 0.95',
      },
      {
        scenario: '… a fresh message of another project at the SMTP server',
        undisturbed: `idle ${fresh(idle)}`,
        measured: fresh(many.fresh),
        target: 'p95 < 100 ms',
      },
      {
        scenario: 'a fresh transactional message beside 60,000 campaign messages of its project',
        undisturbed: `idle ${fresh(idle)}`,
        measured: `${fresh(sameProject.fresh)}, ${rate(sameProject.rate)}`,
        target: 'p95 < 100 ms',
      },
    ]
  },
  segments: async (world) => {
    const { idle, beside, importSeconds, followedRate } = await benchManySegments(world)
    return [
      {
        scenario: '500 tracked segments and an import of 30,000 contacts: entries of another project',
        undisturbed: `p50 ${ms(idle.p50)}, p95 ${ms(idle.p95)}`,
        measured: `p50 ${ms(beside.p50)}, p95 ${ms(beside.p95)}`,
        target: 'p95 < 2,000 ms',
      },
      {
        scenario: '… its own changes, from the start of the import to the last one followed',
        undisturbed: `the import takes ${importSeconds.toFixed(1)} s`,
        measured: rate(followedRate),
        target: '≥ 2,000/s',
      },
    ]
  },
  reads: async (world) => {
    const { idle, beside, idleMail, besideMail, readiness, heavy } = await benchHeavyReads(world)
    const answers = Object.entries(heavy).map(([status, count]) => `${count} × ${status}`)
    return [
      {
        scenario: 'six heavy previews at once for 30 s: tracks of another project',
        undisturbed: `p50 ${idle.p50.toFixed(1)}, p95 ${idle.p95.toFixed(1)} ms`,
        measured: `p50 ${beside.p50.toFixed(1)}, p95 ${beside.p95.toFixed(1)} ms, ${beside.failed} not 200 (previews: ${answers.join(', ')})`,
        target: 'p95 < 2 ×, all 200',
      },
      {
        scenario: '… its mail, and readiness',
        undisturbed: `p50 ${ms(idleMail.p50)}, p95 ${ms(idleMail.p95)}`,
        measured: `p50 ${ms(besideMail.p50)}, p95 ${ms(besideMail.p95)}; ready ${readiness.green} of ${readiness.green + readiness.red}`,
        target: 'unchanged, always ready',
      },
    ]
  },
  jobs: async (world) => {
    const { idle, beside } = await benchFilterJobs(world)
    return [
      {
        scenario: 'three filter jobs over 500,000 contacts: an import of one row of another project',
        undisturbed: `p50 ${ms(idle.p50)}, p95 ${ms(idle.p95)}`,
        measured: `p50 ${ms(beside.p50)}, p95 ${ms(beside.p95)}`,
        target: '< 2,000 ms',
      },
    ]
  },
  workers: async (world) => {
    const results = await benchWorkers(world)
    const [one] = results
    return results.slice(1).map(({ workers, rate: measured, repeated }) => ({
      scenario: `${workers} worker processes, a provider that takes 100 ms a message`,
      undisturbed: `one ${rate(one?.rate ?? 0)}`,
      measured: `${rate(measured)} (${(measured / (one?.rate ?? 1)).toFixed(2)}), ${repeated} twice`,
      target: `${workers} ×, none twice`,
    }))
  },
  snapshot: async (world) => {
    const { before, during } = await benchOldSnapshot(world)
    return [
      {
        scenario: 'an old snapshot held open for 60 s: messages delivered',
        undisturbed: rate(before),
        measured: `${rate(during)} (${(during / before).toFixed(2)})`,
        target: '≥ 0.90',
      },
    ]
  },
  reset: async (world) => {
    const { contacts, idle, worst, failed, seconds } = await benchReset(world)
    return [
      {
        scenario: `a project with ${contacts.toLocaleString('en')} contacts is reset: tracks of another project, in the worst 10 s`,
        undisturbed: `p50 ${idle.p50.toFixed(1)}, p95 ${idle.p95.toFixed(1)} ms`,
        measured: `p50 ${worst.p50.toFixed(1)}, p95 ${worst.p95.toFixed(1)} ms, ${failed} not 200; done after ${Math.round(seconds)} s`,
        target: 'p95 < 2 ×, all 200',
      },
    ]
  },
  large: async (world) => {
    const { delivered, repeated, seconds, peakMemory } = await benchLargeMail(world)
    return [
      {
        scenario: '60 messages of 25 MB, 1 GB of heap',
        undisturbed: '–',
        measured: `${delivered} delivered, ${repeated} twice, ${Math.round(seconds)} s, peak ${Math.round(peakMemory)} MB`,
        target: '60, none twice',
      },
    ]
  },
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !(name in cases))
if (unknown.length > 0)
  throw new Error(`There is no case ${unknown.join(', ')}: ${Object.keys(cases).join(', ')}`)

const database = await startBenchDatabase()
const world = await startWorld(database)
try {
  console.log('| Case | Undisturbed, same run | Measured | Target |\n|---|---|---|---|')
  for (const [name, run] of Object.entries(cases)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    for (const row of await run(world)) {
      console.log(`| ${row.scenario} | ${row.undisturbed} | ${row.measured} | ${row.target} |`)
    }
  }
} finally {
  await world.stop()
  await database.stop()
}
