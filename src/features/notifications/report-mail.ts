import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { MailParser } from 'mailparser'
import type { Ctx } from '../../ctx.ts'
import { noteNotifications } from './notifications.ts'
import { type ReportPart, reportsInMail } from './report-mail.rules.ts'

/** A notice about mail that was sent, which came as mail to an address of the project. */
export type ReportMail = {
  kind: 'delivery-status' | 'feedback-report'
  /** The whole message. */
  raw: Buffer
  projectId: string
  recipient: string
}

/** Bytes that are read of a notice: what comes after them is the message that it is about. */
const MAX_READ = 256 * 1024
const MAX_PARTS = 50

/**
 * Notes what a notice says of messages of the project; it is applied afterwards, as what providers report is. Returns whether it was
 * about one of them. Anybody can write such a notice; who knows the id of a message is its receiver, or a server on its way.
 */
export async function takeReport(
  ctx: Ctx,
  { kind, raw, projectId, recipient }: ReportMail,
): Promise<boolean> {
  const reports = reportsInMail(await partsOf(raw.subarray(0, MAX_READ)), recipient, ctx.now())
  const ids = reports.map(({ emailId }) => emailId).filter((id) => id !== null)
  const known = await ctx.db.email.findMany({ where: { projectId, id: { in: ids } }, select: { id: true } })
  const about = reports.filter(({ emailId }) => known.some(({ id }) => id === emailId))
  if (about.length === 0) return false
  const id = createHash('sha256').update(raw).digest('base64url')
  const source = kind === 'delivery-status' ? 'dsn' : 'arf'
  await noteNotifications(ctx, [
    { source, id, token: null, reports: about.map((report) => ({ ...report, projectId })) },
  ])
  return true
}

/** Parts of the message that are not its text. Malformed ones have none. */
async function partsOf(raw: Buffer): Promise<ReportPart[]> {
  const parser = new MailParser({
    skipHtmlToText: true,
    skipTextToHtml: true,
    skipTextLinks: true,
    skipImageLinks: true,
    keepDeliveryStatus: true,
    ignoreEmbedded: true,
    checksumAlgo: false,
    maxChildNodes: MAX_PARTS,
  })
  const parts: ReportPart[] = []
  try {
    Readable.from([raw]).pipe(parser)
    for await (const part of parser) {
      if (part.type !== 'attachment') continue
      const chunks: Buffer[] = []
      for await (const chunk of part.content) chunks.push(chunk)
      part.release()
      parts.push({ contentType: part.contentType.toLowerCase(), text: Buffer.concat(chunks).toString() })
    }
  } catch {
    return []
  }
  return parts
}
