import type { Project } from '../support/service.ts'

/** What an attack has to work with: a service of its own, and two projects whose keys the attacker has. */
export type Target = {
  url: string
  host: string
  port: number
  /** For what an attacker has prepared over a long time. */
  databaseUrl: string
  /** The hostile tenant, under the limits that are the default. */
  tenant: Project
  /** The same without a limit of requests, for cases about something else. */
  unlimited: Project
  /** A project that does no harm, to see how it fares. */
  bystander: Project
  /** Aborted when the attack has lasted as long as it may. */
  signal: AbortSignal
}

/** One way to harm a service. `run` attacks until it is done or the signal ends it, and says what it saw in few words. */
export type Attack = {
  name: string
  /** What it did before it was defended against. */
  before: string
  /** What the service is started with besides the usual. */
  env?: Record<string, string>
  run: (target: Target) => Promise<string>
}
