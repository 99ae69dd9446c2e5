import type { Command } from 'commander'
import type { Ctx, Services } from '../../ctx.ts'
import { badRequest } from '../../errors.ts'
import { mailDeliveryWork } from '../../features/delivery/mail-delivery.ts'
import { countMail, listDeadMail, redriveMail } from '../../features/operations/dead-letters.ts'
import { listTroubles } from '../../features/provider-troubles/provider-troubles.ts'
import { countJobs, type JobCounts, listDeadJobs, redriveJobs } from '../../queue/dead-jobs.ts'
import { checkedId, checkedIds, checkedLimit, type Output, withJson } from './options.ts'
import { fields, plural, table, time } from './output.ts'
import { type Answer, answerWithServices, projectCtx, serviceCtx } from './run.ts'

const MAX_LISTED = 1_000
const MAIL_QUEUE = mailDeliveryWork.name

export function addJobsCommands(program: Command): void {
  const jobs = program
    .command('jobs')
    .description('Look into the queues; put back what was given up')
    .addHelpText(
      'after',
      `
The queue ${MAIL_QUEUE} counts messages; of all other kinds of work it is jobs, mostly one per project that has some.
A message or job that failed for the last time is a dead letter: it stays until it is put back or expires.`,
    )
  addList(jobs)
  addDead(jobs)
  addRedrive(jobs)
}

function addList(jobs: Command): void {
  withJson(
    jobs
      .command('list')
      .description('List all queues with what waits, runs and was given up (failed) in each'),
  ).action((output: Output) => answerWithServices(output, listQueues, { queue: true }))
}

async function listQueues(services: Services): Promise<Answer> {
  const ctx = serviceCtx(services)
  const jobs = await countJobs(ctx, await jobQueues())
  const troubles = await listTroubles(ctx)
  const queues = [
    { queue: MAIL_QUEUE, states: await countMail(ctx), troubles },
    ...[...jobs].map(([queue, states]) => ({ queue, states })),
  ]
  const rows = queues.map(({ queue, states }) => [queue, statesText(states)])
  const warnings = troubles.map(
    ({ domain, reason, advice, since }) =>
      `${domain === null ? 'No mail' : `No mail of ${domain}`} has left since ${time(since)}: ${reason} ${advice}`,
  )
  return { json: queues, text: [table(['QUEUE', 'STATES'], rows), ...warnings].join('\n') }
}

function statesText({ oldestSeconds, ...counts }: JobCounts): string {
  const states = Object.entries(counts).map(([state, count]) => `${count} ${state}`)
  return [...states, ...(oldestSeconds === null ? [] : [`oldest ${oldestSeconds} s`])].join(', ')
}

type DeadOptions = Output & { queue?: string; project?: string; limit: number }

function addDead(jobs: Command): void {
  withJson(
    jobs
      .command('dead')
      .description('List dead letters, latest first, with the error that each one ended with')
      .option('--queue <name>', 'only those of this queue')
      .option('--project <id>', 'only those of this project', checkedId)
      .option('--limit <number>', `how many at most, up to ${MAX_LISTED}`, checkedLimit(MAX_LISTED), 50),
  ).action(({ queue, project, limit, ...output }: DeadOptions) =>
    answerWithServices(
      output,
      async (services) => {
        if (queue !== undefined) await assertQueue(queue)
        const ctx = await scopeOf(services, project)
        const letters = await deadLetters(ctx, { queue: queue ?? null, projectId: project ?? null, limit })
        return { json: letters, text: deadText(letters, limit) }
      },
      { queue: true },
    ),
  )
}

type DeadLetter = {
  queue: string
  id: string
  projectId: string | null
  /** State of mail. */
  to?: string
  /** State of a job. */
  payload?: object
  error: string | null
  attempts: number
  failedAt: Date
}

async function deadLetters(
  ctx: Ctx,
  input: { queue: string | null; projectId: string | null; limit: number },
): Promise<DeadLetter[]> {
  const { queue } = input
  const mail = queue === null || queue === MAIL_QUEUE ? await listDeadMail(ctx, input) : []
  const jobs = await listDeadJobs(ctx, input)
  return [...mail.map((message) => ({ queue: MAIL_QUEUE, ...message })), ...jobs]
    .toSorted((a, b) => b.failedAt.getTime() - a.failedAt.getTime())
    .slice(0, input.limit)
}

function deadText(letters: DeadLetter[], limit: number): string {
  if (letters.length === 0) return 'There are no dead letters.'
  const shown = letters.map(({ queue, id, projectId, to, payload, error, attempts, failedAt }) => {
    const values = {
      ...(projectId !== null && { project: projectId }),
      ...(to !== undefined && { to }),
      ...(payload !== undefined && { payload: JSON.stringify(payload) }),
      failed: `${time(failedAt)}, after ${plural(attempts, 'attempt')}`,
      error: error ?? '-',
    }
    return `${queue}  ${id}\n${fields(values)}`
  })
  const end =
    letters.length < limit
      ? `${plural(letters.length, 'dead letter')}. "jobs redrive" puts them back.`
      : `Only the latest ${limit} are shown; --limit shows more. "jobs redrive" puts them back.`
  return [...shown, end].join('\n\n')
}

type RedriveOptions = Output & { queue: string; id?: string[]; project?: string }

function addRedrive(jobs: Command): void {
  withJson(
    jobs
      .command('redrive')
      .description(
        'Put dead letters of a queue back into it, due now and with all their attempts before them',
      )
      .requiredOption('--queue <name>', 'the queue, by its name in "jobs list"')
      .option('--id <id...>', 'only these, by their ids in "jobs dead"', checkedIds)
      .option('--project <id>', 'only those of this project', checkedId),
  ).action(({ queue, id, project, ...output }: RedriveOptions) =>
    answerWithServices(
      output,
      async (services) => {
        await assertQueue(queue)
        const input = { queue, ids: id ?? null, projectId: project ?? null }
        return redrive(await scopeOf(services, project), input)
      },
      { queue: true },
    ),
  )
}

async function redrive(
  ctx: Ctx,
  input: { queue: string; ids: string[] | null; projectId: string | null },
): Promise<Answer> {
  const { queue, ids } = input
  const { redriven, left, because, notFailed } = await putBack(ctx, input)
  const text = [
    `${plural(redriven, 'dead letter')} of ${queue} ${redriven === 1 ? 'was' : 'were'} put back, due now.`,
    ...(left > 0 ? [`${left} left: ${because}.`] : []),
  ].join('\n')
  const answer = { json: { queue, redriven, left, notFailed }, text }
  if (notFailed.length > 0)
    return { ...answer, failure: `Not a dead letter of ${queue}: ${notFailed.join(', ')}` }
  return ids && left > 0 ? { ...answer, failure: `${left} could not be put back: ${because}` } : answer
}

async function putBack(
  ctx: Ctx,
  input: { queue: string; ids: string[] | null; projectId: string | null },
): Promise<{ redriven: number; left: number; because: string; notFailed: string[] }> {
  const jobs = await redriveJobs(ctx, input)
  const excluded = { left: jobs.conflicting, because: 'the queue holds a job that excludes another one' }
  if (input.queue !== MAIL_QUEUE) return { redriven: jobs.redriven, notFailed: jobs.notFailed, ...excluded }
  // Slices that were given up go along with the messages.
  const mail = await redriveMail(ctx, { ...input, ids: input.ids && jobs.notFailed })
  return {
    redriven: jobs.redriven + mail.redriven,
    notFailed: mail.notFailed,
    left: mail.withoutContent,
    because: 'the content has been removed at the end of its retention',
  }
}

/** A project that does not exist is an error, not an empty answer. */
const scopeOf = (services: Services, projectId: string | undefined): Promise<Ctx> | Ctx =>
  projectId === undefined ? serviceCtx(services) : projectCtx(services, projectId)

/** Loaded late: the handlers import most of the product. */
async function jobQueues(): Promise<string[]> {
  const { JOBS, WORK_KINDS } = await import('../../jobs.ts')
  return [...JOBS, ...WORK_KINDS].map(({ name }) => name).filter((name) => name !== MAIL_QUEUE)
}

async function assertQueue(name: string): Promise<void> {
  const queues = [MAIL_QUEUE, ...(await jobQueues())]
  if (!queues.includes(name)) {
    throw badRequest(`There is no queue "${name}". The queues are: ${queues.join(', ')}.`)
  }
}
