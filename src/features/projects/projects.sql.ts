import { type None, statement } from '../../db/sql.ts'

/** Any number; two processes that start at once must not both create the demo project. */
export const lockDemo = statement<None>('lock-demo', 'select pg_advisory_xact_lock(1836544618)::text')
