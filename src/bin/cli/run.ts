import { SYSTEM, systemOf } from '../../admission/access.ts'
import { loadConfig } from '../../config.ts'
import { type Ctx, createCtx, type Services } from '../../ctx.ts'
import { getProject } from '../../features/projects/projects.ts'
import { OperatorError } from '../../lib/operator-error.ts'
import { createLog } from '../../observe/log.ts'
import { startServices } from '../../services.ts'
import { reasonOf } from '../reason.ts'
import type { Output } from './options.ts'
import { oneLine } from './output.ts'

/** Output of a command, for programs and for people; `failure` explains the part that it could not do. */
export type Answer = { json: unknown; text: string; failure?: string }

/** Runs a command and prints its answer, or on standard error why there is none. */
export async function answer({ json = false }: Output, work: () => Promise<Answer>): Promise<void> {
  try {
    const said = await work()
    process.stdout.write(`${json ? JSON.stringify(said.json) : said.text}\n`)
    if (said.failure === undefined) return
    console.error(`error: ${oneLine(said.failure)}`)
    process.exitCode = 1
  } catch (error) {
    const reason = reasonOf(error)
    console.error(reason === undefined ? error : `error: ${oneLine(reason)}`)
    process.exitCode = error instanceof Interrupted ? error.exitCode : 1
  }
}

/** Runs a command that works with the service's own parts. Only who enqueues or looks at jobs needs the queue. */
export function answerWithServices(
  output: Output,
  work: (services: Services) => Promise<Answer>,
  needs: { queue: boolean } = { queue: false },
): Promise<void> {
  const start = () => {
    // No roles: nothing is served, delivered or scheduled from here.
    const config = { ...loadConfig(), roles: [] }
    return startServices(config, createLog('error', 'stderr'), { ...needs, databaseWaitMs: 0 })
  }
  return answer(output, () => whileRunning(start, ({ services }) => work(services)))
}

/**
 * Runs the work with the services, and stops them in any case, also at Ctrl-C: an embedded server that was
 * not running before must not stay. A second signal ends the process at once.
 */
export async function whileRunning<Started extends { stop: () => Promise<void> }, Result>(
  start: () => Promise<Started>,
  work: (started: Started) => Promise<Result>,
): Promise<Result> {
  const interruption = Promise.withResolvers<never>()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => interruption.reject(new Interrupted(signal)))
  }
  // A signal that comes during the start takes effect after it.
  interruption.promise.catch(() => {})
  const started = await start()
  try {
    return await Promise.race([interruption.promise, work(started)])
  } finally {
    await started.stop()
  }
}

export const serviceCtx = (services: Services): Ctx =>
  createCtx(services, SYSTEM, 'cli', { connections: 'worker' })

/** The context for the work on one project; throws when there is none with this id. */
export async function projectCtx(services: Services, projectId: string): Promise<Ctx> {
  await getProject(serviceCtx(services), projectId)
  return createCtx(services, systemOf(projectId), 'cli', { connections: 'worker' })
}

const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }

class Interrupted extends OperatorError {
  readonly exitCode: number

  constructor(signal: keyof typeof EXIT_CODES) {
    super('Interrupted.')
    this.exitCode = EXIT_CODES[signal]
  }
}
