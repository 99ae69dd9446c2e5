import { SYSTEM } from '../admission/access.ts'
import { type App, startApp } from '../app.ts'
import { loadConfig } from '../config.ts'
import { createCtx } from '../ctx.ts'
import { createDemo } from '../features/projects/demo.ts'
import { listProjects } from '../features/projects/projects.ts'
import { createLog } from '../observe/log.ts'
import { banner } from './banner.ts'
import { reasonOf } from './reason.ts'

/** Longer than an orderly stop takes, shorter than supervisors wait before they kill. */
const STOP_MS = 28_000

/** Starts the roles of this process and stops them cleanly at the first SIGINT or SIGTERM. */
async function serve(): Promise<void> {
  const startedAt = performance.now()
  const config = loadConfig()
  const log = createLog(config.logLevel)
  const starting = startApp(config, log)
  let stopping = false
  const stop = () => {
    if (stopping) return
    stopping = true
    end(starting, () => log.flush())
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  try {
    const app = await starting
    if (!stopping) await present(app, startedAt)
  } catch (error) {
    // A stop makes the start fail; the stop itself ends the process.
    if (!stopping) throw error
  }
}

/** Creates what a first start needs, and prints what has started. */
async function present(app: App, startedAt: number): Promise<void> {
  try {
    const demo = app.config.environment === 'production' ? null : await createDemo(app.services)
    const hasProject =
      demo !== null || (await listProjects(createCtx(app.services, SYSTEM, 'start'), 1)).length > 0
    console.log(banner(app.config, { demo, hasProject }, performance.now() - startedAt))
  } catch (error) {
    // The database that came along would run on.
    await app.stop()
    throw error
  }
}

/**
 * Also ends a start that is still going on, which may have a database running. A second signal ends the
 * process at once.
 */
function end(starting: Promise<App>, flush: () => void): void {
  process.once('SIGINT', () => process.exit(130))
  setTimeout(() => process.exit(1), STOP_MS).unref()
  starting
    .then((app) => app.stop())
    .then(
      () => {
        flush()
        process.exit(0)
      },
      (error: unknown) => {
        console.error(error)
        process.exit(1)
      },
    )
}

try {
  await serve()
} catch (error) {
  fail(error)
}

function fail(error: unknown): never {
  console.error(reasonOf(error) ?? error)
  process.exit(1)
}
