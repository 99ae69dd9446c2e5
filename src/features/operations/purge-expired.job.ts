import { z } from 'zod'
import { type Ctx, forProject, projectIdOf } from '../../ctx.ts'
import { untilFewer } from '../../lib/async/until-fewer.ts'
import { earliestId } from '../../lib/ids.ts'
import { defineJob } from '../../queue/define-job.ts'
import { mergeMailCountsBefore } from '../analytics/mail-counts.ts'
import { forgetNotifications } from '../notifications/unmatched-reports.ts'
import { keepMonths } from '../retention/keep-months.ts'
import { deleteImagesBefore } from '../uploads/uploads.ts'
import { forgetSignIns } from '../users/forget-sign-ins.ts'
import { deleteExecutionsBefore } from '../workflows/executions/executions.ts'
import {
  purgeAttachments,
  purgeAuditEntries,
  purgeBillingEvents,
  purgeContactJobs,
  purgeContents,
  purgeDeadMail,
  purgeEventCounts,
  purgeFieldDeletions,
  purgeIdempotencyKeys,
  purgeVariables,
  purgeWebhookCalls,
} from './purge-expired.sql.ts'
import { forgetEventNames, forgetUnusedFields } from './unused-names.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Rows per statement: few enough that other statements hardly wait for the locks. */
const BATCH = 1_000
/** Reports of imports and bulk changes that a project keeps, however new they are. */
const MAX_JOBS = 10_000
/** How long notifications of Stripe are remembered: they are repeated for three days. */
const BILLING_EVENT_DAYS = 7
/** How long the log of webhooks is kept. */
const WEBHOOK_LOG_DAYS = 30
/** How long the log of changes is kept. */
const AUDIT_DAYS = 365
/** Images per round; each of them is a call of the store. */
const IMAGES = 100

/**
 * Removes what has been kept for its time: used idempotency keys, ended sessions, tokens and failures of sign-ins, rendered bodies and their files, reports of imports
 * and bulk changes, executions of workflows, calls of webhooks, notifications of providers, entries of the audit log, counts of long ago, events, mail and images where that is set, and names of events and fields that nothing has.
 */
export const purgeExpiredJob = defineJob({
  name: 'operations.purge-expired',
  payload: z.record(z.string(), z.never()),
  options: { retryLimit: 3, retryBackoff: true, expireInSeconds: 3_000 },
  cron: '17 * * * *',
  async handle(ctx) {
    const before = daysAgo(ctx, ctx.config.idempotencyTtlHours / 24)
    await untilFewer(
      BATCH,
      async () => (await ctx.sql(purgeIdempotencyKeys, { before, limit: BATCH })).length,
    )
    await forgetSignIns(ctx, daysAgo(ctx, 1))
    await untilFewer(BATCH, () => forgetNotifications(ctx, BATCH))
    const told = { before: daysAgo(ctx, BILLING_EVENT_DAYS), limit: BATCH }
    await untilFewer(BATCH, async () => (await ctx.sql(purgeBillingEvents, told)).length)
    const projects = await ctx.db.project.findMany({ select: { id: true } })
    for (const { id } of projects) await purgeProject(forProject(ctx, id))
    await keepMonths(
      ctx,
      projects.map(({ id }) => id),
    )
    // Images come last: a store that is away must not keep the rest from being removed.
    for (const { id } of projects) await purgeImages(forProject(ctx, id))
  },
})

const daysAgo = (ctx: Ctx, days: number): Date => new Date(ctx.now().getTime() - days * DAY)

async function purgeProject(ctx: Ctx): Promise<void> {
  const { config } = ctx
  const projectId = projectIdOf(ctx)
  const mail = { projectId, firstKept: earliestId(daysAgo(ctx, config.emailBodyRetentionDays)), limit: BATCH }
  const jobs = {
    ...mail,
    firstKept: earliestId(daysAgo(ctx, config.contactJobRetentionDays)),
    kept: MAX_JOBS,
  }
  const calls = { projectId, firstKept: earliestId(daysAgo(ctx, WEBHOOK_LOG_DAYS)), limit: BATCH }
  const audit = { ...calls, firstKept: earliestId(daysAgo(ctx, AUDIT_DAYS)) }
  // A day more than statistics look at, for processes whose clocks differ.
  const counts = { projectId, before: daysAgo(ctx, config.eventCountRetentionDays + 1), limit: BATCH }
  for (const purge of [
    () => ctx.sql(purgeContents, mail),
    () => ctx.sql(purgeVariables, mail),
    () => ctx.sql(purgeDeadMail, mail),
    () => ctx.sql(purgeAttachments, mail),
    () => ctx.sql(purgeContactJobs, jobs),
    () => ctx.sql(purgeWebhookCalls, calls),
    () => ctx.sql(purgeAuditEntries, audit),
    () => ctx.sql(purgeEventCounts, counts),
    () => ctx.sql(purgeFieldDeletions, { ...counts, before: daysAgo(ctx, 1) }),
  ]) {
    await untilFewer(BATCH, async () => (await purge()).length)
  }
  const over = daysAgo(ctx, config.executionRetentionDays)
  await untilFewer(BATCH, () => deleteExecutionsBefore(ctx, over, BATCH))
  await untilFewer(BATCH, () => mergeMailCountsBefore(ctx, counts.before, BATCH))
  await forgetEventNames(ctx, daysAgo(ctx, 2))
  await forgetUnusedFields(ctx, daysAgo(ctx, config.unusedFieldRetentionDays))
}

async function purgeImages(ctx: Ctx): Promise<void> {
  const days = ctx.config.uploadRetentionDays
  if (days > 0) await untilFewer(IMAGES, () => deleteImagesBefore(ctx, daysAgo(ctx, days), IMAGES))
}
