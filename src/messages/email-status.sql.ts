/*
 * The one rule of which status an email has: PENDING, SENT, DELIVERED, OPENED, CLICKED, BOUNCED, COMPLAINED, each above the
 * one before it, in whatever order they are heard of. The type email_status has this order. SUPPRESSED, CANCELLED and
 * RECEIVED stand above them: such a message has not left. FAILED is below all but PENDING and SENT: who was told to have
 * given up too early learns better.
 */

/** The status of an email that has `status` when it is heard that `heard` happened: DELIVERED or above. */
export const raisedStatus = (status: string, heard: string): string =>
  `case when ${status} = 'FAILED' then ${heard} else greatest(${status}, ${heard}) end`
