import { type Ctx, forProject } from '../../ctx.ts'
import { serviceUnavailable } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'
import { workKind } from '../../queue/job-queue.ts'
import { isMachine } from '../tracking/reported-hits.ts'
import { noteReports } from './notifications.sql.ts'
import type { Notification, Report } from './report.rules.ts'

/** A project has reports of its mail that are not applied. */
export const reportWork = workKind('notifications.apply')

/** Notifications that wait to be written by this process: more wait for a database that is away or overloaded. */
const MAX_UNWRITTEN = 1_000
/** Notifications that one statement writes: few, so that a storm leaves the processor to those who send. */
const MAX_TOGETHER = 8
/** Statements at a time. */
const STATEMENTS = 1

type Waiting = { notification: Notification; resolve: () => void; reject: (error: unknown) => void }

/**
 * Writes notifications of providers down; what they say is applied afterwards. Those that come while a statement is under way
 * are written together by the next one.
 */
export class NotificationRecorder {
  readonly #ctx: Ctx
  #gathered: Waiting[] = []
  #statements = 0

  /** `ctx` is of no project. */
  constructor(ctx: Ctx) {
    this.#ctx = ctx
  }

  /** Resolves when it is written, or was before. Throws SERVICE_UNAVAILABLE; the provider comes again. */
  record(notification: Notification): Promise<void> {
    if (this.#gathered.length >= MAX_UNWRITTEN) throw serviceUnavailable()
    return new Promise((resolve, reject) => {
      this.#gathered.push({ notification, resolve, reject })
      // #writeAll catches everything itself.
      if (this.#statements < STATEMENTS) void this.#writeAll()
    })
  }

  async #writeAll(): Promise<void> {
    this.#statements += 1
    while (this.#gathered.length > 0) {
      const together = this.#gathered.splice(0, MAX_TOGETHER)
      try {
        await noteNotifications(
          this.#ctx,
          together.map(({ notification }) => notification),
        )
        for (const { resolve } of together) resolve()
      } catch (error) {
        for (const { reject } of together) reject(error)
      }
    }
    this.#statements -= 1
  }
}

/** Writes down what notifications say that are new, and asks for the work that applies it. */
export async function noteNotifications(ctx: Ctx, notifications: Notification[]): Promise<void> {
  const rows = notifications.flatMap((notification) =>
    notification.reports.map((report) => ({ notification, report })),
  )
  if (rows.length === 0) return
  const now = ctx.now()
  const projects = await ctx.sql(noteReports, {
    now,
    clockShift: ctx.services.clockShift(),
    sources: rows.map(({ notification }) => notification.source),
    keys: rows.map(({ notification }) => notification.id),
    tokens: rows.map(({ notification }) => notification.token),
    ids: rows.map(() => newId(now)),
    ...columnsOf(rows.map(({ report }) => report)),
  })
  for (const { projectId } of projects) forProject(ctx, projectId).requestWork(reportWork)
}

const columnsOf = (reports: Report[]) => ({
  domains: reports.map(({ senderDomain }) => senderDomain),
  projectIds: reports.map(({ projectId }) => projectId),
  kinds: reports.map(({ kind }) => kind),
  at: reports.map(({ at }) => at),
  emailIds: reports.map(({ emailId }) => emailId),
  recipients: reports.map(({ recipient }) => recipient),
  providerMessageIds: reports.map(({ providerMessageId }) => providerMessageId),
  reasons: reports.map(({ reason }) => reason),
  links: reports.map(({ link }) => link),
  machines: reports.map(({ agent }) => agent !== null && (agent.machine || isMachine(agent.name))),
})
