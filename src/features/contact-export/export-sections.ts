import type { Ctx } from '../../ctx.ts'

type Of = { projectId: string; contactId: string; email: string }
type Row = { key: string; record: object }

/** A kind of records about a contact: the first `limit` with keys above `after`, in the order of their keys. */
export type Section = {
  name: string
  limit: number
  read: (ctx: Ctx, of: Of, after: string | null, limit: number) => Promise<Row[]>
}

const MANY = 100
/** Messages come with their content, which may be large. */
const FEW = 10

const above = (after: string | null) => (after === null ? {} : { gt: after })

/** A section of a single record has no second page. */
const single = (record: object | null, after: string | null): Row[] =>
  record === null || after !== null ? [] : [{ key: '', record }]

/** Everything that is kept of a contact. */
export const SECTIONS: readonly Section[] = [
  {
    name: 'contact',
    limit: MANY,
    read: async ({ db }, { projectId, contactId: id }, after) =>
      single(await db.contact.findUnique({ where: { projectId_id: { projectId, id } } }), after),
  },
  {
    name: 'suppression',
    limit: MANY,
    read: async ({ db }, { projectId, email }, after) =>
      single(await db.suppression.findUnique({ where: { projectId_email: { projectId, email } } }), after),
  },
  {
    name: 'segments',
    limit: MANY,
    read: async ({ db }, { projectId, contactId }, after, take) => {
      const where = { projectId, contactId, segmentId: above(after) }
      const rows = await db.segmentMember.findMany({ where, orderBy: { segmentId: 'asc' }, take })
      return rows.map((record) => ({ key: record.segmentId, record }))
    },
  },
  {
    name: 'events',
    limit: MANY,
    read: async ({ db }, { projectId, contactId }, after, take) => {
      const where = { projectId, contactId, id: above(after) }
      const rows = await db.event.findMany({ where, orderBy: { id: 'asc' }, take })
      return rows.map((record) => ({ key: record.id, record }))
    },
  },
  {
    name: 'emails',
    limit: FEW,
    read: async ({ db }, { projectId, contactId }, after, take) => {
      const where = { projectId, contactId, id: above(after) }
      const rows = await db.email.findMany({ where, orderBy: { id: 'asc' }, take })
      const contents = await db.emailContent.findMany({
        where: { projectId, emailId: { in: rows.map(({ id }) => id) } },
      })
      const byEmail = new Map(contents.map((content) => [content.emailId, content]))
      return rows.map((email) => ({
        key: email.id,
        record: { ...email, content: byEmail.get(email.id) ?? null },
      }))
    },
  },
  {
    name: 'campaigns',
    limit: MANY,
    read: async ({ db }, { projectId, contactId }, after, take) => {
      const where = { projectId, contactId, campaignId: above(after) }
      const rows = await db.campaignRecipient.findMany({ where, orderBy: { campaignId: 'asc' }, take })
      return rows.map((record) => ({ key: record.campaignId, record }))
    },
  },
  {
    name: 'workflows',
    limit: FEW,
    read: async ({ db }, { projectId, contactId }, after, take) => {
      const where = { projectId, contactId, id: above(after) }
      const include = { stepExecutions: true }
      const rows = await db.workflowExecution.findMany({ where, include, orderBy: { id: 'asc' }, take })
      return rows.map((record) => ({ key: record.id, record }))
    },
  },
  {
    name: 'webhookCalls',
    limit: FEW,
    read: async ({ db }, { projectId, contactId }, after, take) => {
      const where = { projectId, contactId, id: above(after) }
      const rows = await db.webhookMessage.findMany({ where, orderBy: { id: 'asc' }, take })
      return rows.map(({ takenBy, takenAttempt, headers, ...record }) => ({ key: record.id, record }))
    },
  },
]
