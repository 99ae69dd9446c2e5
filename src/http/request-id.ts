import { randomUUID } from 'node:crypto'

/** Incoming X-Request-Ids that are kept: they hold nothing that could forge a log line or a header. */
const VALID = /^[A-Za-z0-9._:/+=@-]{1,128}$/

export const requestIdFrom = (header: string | string[] | undefined): string | null =>
  typeof header === 'string' && VALID.test(header) ? header : null

export const newRequestId = (): string => randomUUID()
