import { parseArgs } from 'node:util'
import { startBenchDatabase } from './bench-database.ts'
import { makeTenants, startWorld } from './tenants/world.ts'
import { benchBurst } from './workflows/burst.ts'
import { benchSteps } from './workflows/steps.ts'
import { benchTrack } from './workflows/track.ts'
import { benchWaiting } from './workflows/waiting.ts'

/**
 * How fast a worker moves executions that start together, beside a bare loop of the same commits; how another project fares
 * meanwhile; what executions cost that wait; and what an enabled workflow costs who tracks events. `--executions N` (10,000) of a
 * burst, `--waiting N` (100,000) and `--seconds N` (6) of each track; loopback only, and ends by itself within eight minutes.
 */
const { values } = parseArgs({
  options: {
    executions: { type: 'string', default: '10000' },
    waiting: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '6' },
  },
})
const executions = Number(values.executions)
const waiting = Number(values.waiting)
const seconds = Number(values.seconds)
/** Times as long is what a process costs that has nothing to do: its timers come now and then. */
const IDLE_TIMES = 5

const database = await startBenchDatabase()
const world = await startWorld(database)
try {
  console.log('| What | Figure |\n|---|---|')
  await benchSteps(world, executions)
  await benchTrack(world, seconds)
  const [bursting, other, patient] = await makeTenants(world, 3)
  if (!bursting || !other || !patient) throw new Error('There are three tenants')
  await benchBurst(world, [bursting, other], executions)
  await benchWaiting(world, patient, { waiting, seconds: IDLE_TIMES * seconds })
} finally {
  await world.stop()
  await database.stop()
}
