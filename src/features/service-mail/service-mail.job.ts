import type { Ctx } from '../../ctx.ts'
import { newId } from '../../lib/ids.ts'
import { escapeHtml } from '../../lib/text/html.ts'
import type { DkimKey, Mailer } from '../../mail/mailer.ts'
import { defineJob, type Job } from '../../queue/define-job.ts'
import { type ServiceMessage, serviceMailQueue } from './service-mail.ts'
import { createToken, dropToken } from './tokens.ts'

export { serviceMailQueue } from './service-mail.ts'

/** Sends the service's own mails. It fails when the provider may take the mail later, and is tried again. */
export const serviceMailJob = (mailer: Mailer): Job =>
  defineJob({
    ...serviceMailQueue,
    concurrency: 2,
    async handle(ctx, message) {
      const { serviceMail } = ctx.config
      if (!serviceMail) return
      const token = message.token && (await createToken(ctx, message.to, message.token))
      if (message.token && !token) return
      const result = await mailer.send(await outgoing(ctx, serviceMail.from, message, token))
      if (result.kind === 'sent') return
      if (token) await dropToken(ctx, token)
      if (result.kind !== 'permanent') throw new Error(result.reason)
      ctx.log.warn({ reason: result.reason }, 'a mail of the service was refused for good')
    },
  })

async function outgoing(ctx: Ctx, from: string, message: ServiceMessage, token: string | null) {
  const { to, subject, paragraphs, link } = message
  const url = link && (token ? `${link.url}?token=${token}` : link.url)
  const [first = '', ...others] = paragraphs
  const html = [
    paragraph(first),
    ...(url && link ? [`<p><a href="${escapeHtml(url)}">${escapeHtml(link.label)}</a></p>`] : []),
    ...others.map(paragraph),
  ]
  const id = newId(ctx.now())
  const domain = from.slice(from.lastIndexOf('@') + 1)
  return {
    emailId: id,
    projectId: '',
    messageId: `<${id}@${domain}>`,
    date: ctx.now(),
    from: { address: from, name: 'Mailwright' },
    to: { address: to },
    subject,
    html: html.join('\n'),
    text: [first, ...(url ? [url] : []), ...others].join('\n\n'),
    headers: [{ name: 'Auto-Submitted', value: 'auto-generated' }],
    attachments: [],
    dkim: await dkimKeyOf(ctx, domain),
  }
}

const paragraph = (text: string): string => `<p>${escapeHtml(text)}</p>`

/** The key of the sender's domain, when a project has verified it here. */
async function dkimKeyOf(ctx: Ctx, domain: string): Promise<DkimKey | undefined> {
  const found = await ctx.db.domain.findFirst({ where: { domain, status: 'VERIFIED' } })
  if (!found?.dkimSelector || !found.dkimPrivateKey) return undefined
  return { domain, selector: found.dkimSelector, privateKey: ctx.config.sealing.open(found.dkimPrivateKey) }
}
