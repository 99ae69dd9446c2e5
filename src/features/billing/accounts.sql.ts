import { statement } from '../../db/sql.ts'

/** Remembers a notification; no row when it was known. Key: billing_events_pkey. */
export const rememberEvent = statement<{ id: string; now: Date }, { id: string }>(
  'remember-billing-event',
  `insert into billing_events (id, received_at) values (:id, :now::timestamptz) on conflict (id) do nothing returning id`,
)

/** Notes that something of a customer has changed at Stripe. Key: billing_accounts_customer_id_key. */
export const noteChange = statement<{ customerId: string }, { projectId: string }>(
  'note-billing-change',
  `update billing_accounts set changes = changes + 1, next_at = null where customer_id = :customerId
   returning project_id as "projectId"`,
)

/** Statuses of subscriptions that are being paid, or will be; the others are over, or never began. */
const RUNNING = ['active', 'trialing', 'past_due', 'unpaid']

export const isRunning = (status: string | null): boolean => status !== null && RUNNING.includes(status)

const IS_RUNNING = `a.status in (${RUNNING.map((status) => `'${status}'`).join(', ')})`

/** Stripe takes usage of the past 35 days; a day less, for clocks. */
const IS_REPORTABLE = `u.month + interval '1 month' > (:now::timestamptz at time zone 'UTC') - interval '34 days'
  and (u.used > u.reported or u.reporting is not null)`

/** Projects with a change that was not read, or with usage to report. Keys: the primary ones. */
export const projectsToSync = statement<{ now: Date; limit: number }, { projectId: string }>(
  'projects-to-sync-billing',
  `select a.project_id as "projectId" from billing_accounts a
   where (a.next_at is null or a.next_at <= :now::timestamptz) and (a.read_changes < a.changes or (${IS_RUNNING}
     and exists (select from billing_usage u where u.project_id = a.project_id and ${IS_REPORTABLE})))
   limit :limit::int`,
)

/** Stores what Stripe says of the subscription, unless someone has asked it later. Key: billing_accounts_pkey. */
export const storeSubscription = statement<
  { projectId: string; subscriptionId: string | null; status: string | null; changes: number; now: Date },
  { projectId: string }
>(
  'store-subscription',
  `update billing_accounts set subscription_id = :subscriptionId, status = :status, read_changes = :changes::int,
     updated_at = :now::timestamptz
   where project_id = :projectId::uuid and read_changes < :changes::int returning project_id as "projectId"`,
)

/** Usage from before the subscription is not billed. Key: billing_usage_pkey. */
export const forgiveUsage = statement<{ projectId: string }>(
  'forgive-billing-usage',
  `update billing_usage set reported = used where project_id = :projectId::uuid and reporting is null`,
)

export type Report = { category: string; month: string; from: number; upTo: number; at: Date }

/**
 * Begins to report what is not reported, or goes on with what a process before has begun: the same messages under the same
 * name and time. Key: billing_usage_pkey.
 */
export const beginReports = statement<{ projectId: string; now: Date }, Report>(
  'begin-billing-reports',
  `update billing_usage u set reporting = coalesce(u.reporting, u.used),
     reporting_at = case when u.reporting is not null then u.reporting_at else least(:now::timestamptz,
       (u.month + interval '1 month' - interval '1 second') at time zone 'UTC') end
   where u.project_id = :projectId::uuid and ${IS_REPORTABLE}
   returning lower(category::text) as category, to_char(month, 'YYYY-MM-DD') as month, reported as "from",
     reporting as "upTo", reporting_at as at`,
)

/** Notes that Stripe knows of the messages. Key: billing_usage_pkey. */
export const endReport = statement<{ projectId: string; month: string; category: string; upTo: number }>(
  'end-billing-report',
  `update billing_usage set reported = reporting, reporting = null, reporting_at = null
   where project_id = :projectId::uuid and month = :month::date and category = upper(:category)::billing_category
     and reporting = :upTo::int`,
)

/** Key: billing_accounts_pkey. */
export const syncAgainAt = statement<{ projectId: string; at: Date }>(
  'sync-billing-again',
  'update billing_accounts set next_at = :at::timestamptz where project_id = :projectId::uuid',
)
