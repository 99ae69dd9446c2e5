import { workflowAdvancingWork } from '../../changes/followers.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { newId } from '../../lib/ids.ts'
import { askOutside } from '../../lib/net/outside-request.ts'
import { isPublicAddress } from '../../lib/net/public-address.ts'
import { storableText } from '../../lib/text/storable.ts'
import type { SliceResult, Turn } from '../../queue/define-work.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { settleCall, type TakenCall, takeDueCalls } from './messages.sql.ts'
import { currentSecrets } from './secrets.ts'
import { signedHeaders } from './signing.rules.ts'
import { type Tried, verdictOf } from './webhooks.rules.ts'

/** Calls of a slice, which are made at the same time. */
const TOGETHER = 10
const HOP_MS = 10_000
const MAX_REDIRECTS = 5
/** Bytes of an answer that the log keeps. */
const MAX_ANSWER = 4_096
const DAY_MS = 86_400_000
/** An endpoint that has failed for so many days is called no more. */
const FAILING_DAYS = 5

const UNUSED = {
  disabled: 'The endpoint is not called at present.',
  gone: 'The endpoint was deleted.',
  cancelled: 'The execution of the workflow is over.',
}

/** Makes some of the calls of a project that are due, and writes down what came of each. */
export async function makeCalls(ctx: Ctx, turn: Turn): Promise<SliceResult> {
  const projectId = projectIdOf(ctx)
  const params = { projectId, jobId: turn.jobId, attempt: turn.attempt, limit: TOGETHER }
  const calls = await ctx.sql(takeDueCalls, { ...params, clockShift: ctx.services.clockShift() })
  if (calls.length === 0) return 'done'
  // Others join in before the slowest of these has answered.
  if (calls.length === TOGETHER) turn.askForMore()
  const secrets = await currentSecrets(ctx)
  await Promise.all(calls.map((call) => makeCall(ctx, turn, call, secrets)))
  return calls.length === TOGETHER ? 'more' : 'done'
}

async function makeCall(ctx: Ctx, turn: Turn, call: TakenCall, secrets: string[]): Promise<void> {
  const { unused } = call
  const began = performance.now()
  const tried: Tried =
    unused === null
      ? await ask(ctx, call, secrets)
      : { failure: UNUSED[unused], isRefused: true, url: call.url }
  const tookMs = unused === null ? Math.round(performance.now() - began) : null
  const { status, delayMs, error, isGone } = verdictOf(tried, call.attempts, call.isEndpoints, Math.random())
  const now = ctx.now()
  const [settled] = await ctx.sql(settleCall, {
    ...{ clockShift: ctx.services.clockShift(), now, projectId: call.projectId, id: call.id },
    ...{ jobId: turn.jobId, attempt: turn.attempt, status, delayMs, tookMs, isGone },
    ...{ tryId: newId(now), url: tried.url, error: error && storableText(error) },
    httpStatus: 'status' in tried ? tried.status : null,
    answer: 'status' in tried ? storableText(tried.body) : null,
    failingBefore: new Date(now.getTime() - FAILING_DAYS * DAY_MS),
    failingReason: isGone
      ? 'It answered 410: it wants no more calls.'
      : `No call has succeeded for ${FAILING_DAYS} days.`,
  })
  if (settled?.woken) ctx.requestWork(workflowAdvancingWork, PRIORITIES.workflow)
  if (settled?.endpointId)
    ctx.log.warn({ endpointId: settled.endpointId }, 'a webhook endpoint is called no more')
}

function ask(ctx: Ctx, { id, url, method, headers, body }: TakenCall, secrets: string[]): Promise<Tried> {
  const request = {
    method,
    url: new URL(url),
    headers: {
      'user-agent': 'Mailwright',
      ...headers,
      ...signedHeaders({ id, sentAt: ctx.now(), body }, secrets),
    },
    body: method === 'GET' || method === 'HEAD' ? null : body,
  }
  return askOutside(request, {
    dns: ctx.services.dns,
    mayReach: (address) => ctx.config.allowPrivateWebhooks || isPublicAddress(address),
    hopMs: HOP_MS,
    maxRedirects: MAX_REDIRECTS,
    maxAnswer: MAX_ANSWER,
  })
}
