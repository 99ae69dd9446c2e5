/** A table of projects, and how many of its rows go in one statement. */
export type WipedTable = { table: string; key: readonly string[]; rows: number }

/** Few enough that other statements hardly wait for the locks. */
const ROWS = 2_000

const rowsOf = (table: string, key: readonly string[], rows = ROWS): WipedTable => ({ table, key, rows })

/**
 * What a reset removes, in the order in which it does: what makes new rows goes first, and rows go before those that they
 * refer to, so that no delete takes many others along. `key` are the columns of the primary key behind project_id. Image
 * files come after all of them (`uploads`).
 */
export const WIPED: readonly WipedTable[] = [
  rowsOf('contact_jobs', ['id'], 20),
  rowsOf('contact_field_deletions', ['name']),
  rowsOf('event_deletions', ['name']),
  rowsOf('contact_erasures', ['id']),
  rowsOf('segment_removals', ['segment_id']),
  rowsOf('idempotency_keys', ['key']),
  rowsOf('deliveries', ['email_id']),
  rowsOf('changes', ['consumer', 'id']),
  rowsOf('campaign_tallies', ['campaign_id', 'id']),
  rowsOf('campaign_recipients', ['campaign_id', 'contact_id']),
  rowsOf('campaign_links', ['campaign_id', 'link_id']),
  rowsOf('campaign_variants', ['campaign_id', 'number'], 200),
  rowsOf('campaigns', ['id'], 200),
  rowsOf('webhook_attempts', ['message_id', 'id']),
  rowsOf('webhook_messages', ['id']),
  rowsOf('webhook_endpoints', ['id']),
  rowsOf('webhook_secrets', ['id']),
  rowsOf('step_executions', ['id']),
  rowsOf('workflow_executions', ['id'], 1_000),
  rowsOf('workflow_entries', ['workflow_id', 'contact_id']),
  rowsOf('workflow_transitions', ['id']),
  rowsOf('workflow_steps', ['id']),
  rowsOf('workflows', ['id'], 200),
  // Removing executions writes them.
  rowsOf('workflow_tallies', ['workflow_id', 'id']),
  rowsOf('workflow_counts', ['workflow_id', 'counted_id', 'status']),
  rowsOf('tracking_hits', ['email_id', 'id']),
  rowsOf('email_contents', ['email_id'], 500),
  rowsOf('email_attachments', ['set_id', 'position'], 20),
  rowsOf('emails', ['id'], 1_000),
  rowsOf('events', ['id']),
  rowsOf('event_counts', ['name', 'day']),
  rowsOf('event_names', ['name']),
  rowsOf('event_recounts', ['project_id']),
  rowsOf('segment_members', ['segment_id', 'contact_id']),
  rowsOf('segments', ['id'], 200),
  rowsOf('segment_checks', ['project_id']),
  rowsOf('interests', ['consumer', 'consumer_id', 'kind', 'name']),
  rowsOf('contact_totals', ['key']),
  rowsOf('contacts', ['id'], 500),
  rowsOf('contact_fields', ['name']),
  rowsOf('mail_reports', ['id']),
  rowsOf('unmatched_reports', ['id']),
  rowsOf('suppressions', ['email']),
  rowsOf('templates', ['id'], 200),
]

/**
 * What a reset keeps: who may use the project, where its mail comes from, what is owed, what happened to it, and how its mail
 * was received, which a reset must not make better.
 */
export const KEPT: readonly WipedTable[] = [
  rowsOf('members', ['user_id']),
  rowsOf('invitations', ['email']),
  rowsOf('domains', ['id']),
  rowsOf('warm_up_days', ['domain', 'day']),
  rowsOf('api_keys', ['id']),
  rowsOf('suspensions', ['id']),
  rowsOf('mail_tallies', ['id']),
  rowsOf('mail_counts', ['quarter', 'provider']),
  rowsOf('reputation_states', ['project_id']),
  rowsOf('audit_entries', ['id']),
  rowsOf('limit_windows', ['kind']),
  rowsOf('billing_accounts', ['project_id']),
  rowsOf('billing_limits', ['category']),
  rowsOf('billing_usage', ['month', 'category']),
  rowsOf('billing_tallies', ['month', 'category', 'id']),
]

/** Tables that the work itself ends with: their rows say what is left to do. */
export const ENDED_LAST = ['uploads', 'project_wipes'] as const

/** The tables that are emptied; of a project that is deleted all of them. */
export const tablesOf = ({ deletes }: { deletes: boolean }): readonly WipedTable[] =>
  deletes ? [...WIPED, ...KEPT] : WIPED
