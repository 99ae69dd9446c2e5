import { z } from 'zod'
import type { Ctx } from '../../ctx.ts'
import type { JobQueue } from '../../queue/job-queue.ts'

const message = z.object({
  to: z.string(),
  subject: z.string(),
  /** Plain text, a string for each paragraph. */
  paragraphs: z.array(z.string()),
  link: z.object({ label: z.string(), url: z.string() }).nullable(),
  /** The link gets a token for the account of the address; without such an account nothing is sent. */
  token: z.enum(['VERIFY_EMAIL', 'RESET_PASSWORD']).nullable(),
})

/** A mail of the service itself, to someone who uses it. */
export type ServiceMessage = z.output<typeof message>

/** A mail is tried again for about two hours: the tokens in most of them are valid for one. */
export const serviceMailQueue: JobQueue<ServiceMessage> = {
  name: 'service-mail.send',
  payload: message,
  options: {
    notify: true,
    retryLimit: 15,
    retryDelay: 5,
    retryBackoff: true,
    retryDelayMax: 900,
    expireInSeconds: 300,
  },
}

/**
 * Has the service send a mail of its own, with the commit when called in a transaction; does nothing where it cannot send
 * any (SERVICE_MAIL_FROM). Whether there is an account for a token is looked up later, so that the caller cannot tell by the
 * time that this takes.
 */
export async function sendServiceMail(
  ctx: Ctx,
  {
    link = null,
    token = null,
    ...mail
  }: Pick<ServiceMessage, 'to' | 'subject' | 'paragraphs'> & Partial<ServiceMessage>,
): Promise<void> {
  if (ctx.config.serviceMail) await ctx.enqueue(serviceMailQueue, { ...mail, link, token })
}

/** Members that a notice about their project is sent to, at most. */
const MAX_NOTICES = 100

/** Tells those who look after a project, its owner and admins, what has happened to it; see sendServiceMail. */
export async function notifyAdmins(
  ctx: Ctx,
  projectId: string,
  notice: Pick<ServiceMessage, 'subject' | 'paragraphs'>,
): Promise<void> {
  if (!ctx.config.serviceMail) return
  const admins = await ctx.db.member.findMany({
    where: { projectId, role: { in: ['OWNER', 'ADMIN'] } },
    orderBy: { createdAt: 'asc' },
    take: MAX_NOTICES,
    select: { user: { select: { email: true } } },
  })
  for (const { user } of admins) await sendServiceMail(ctx, { to: user.email, ...notice })
}

/** An address of the dashboard, or without one of the service's own pages. */
export const dashboardLink = ({ config }: Ctx, path: string): string =>
  `${config.dashboardUrl ?? config.apiUrl}${path}`

export const sendVerificationMail = (ctx: Ctx, to: string): Promise<void> =>
  sendServiceMail(ctx, {
    to,
    subject: 'Confirm your address',
    paragraphs: [
      'Someone, probably you, has created an account with this address. Confirm that it is yours:',
      'The link works once, for an hour. If it was not you, ignore this mail.',
    ],
    link: { label: 'Confirm the address', url: dashboardLink(ctx, '/auth/verify-email') },
    token: 'VERIFY_EMAIL',
  })

export const sendPasswordResetMail = (ctx: Ctx, to: string): Promise<void> =>
  sendServiceMail(ctx, {
    to,
    subject: 'Set a new password',
    paragraphs: [
      'Someone, probably you, wants to set a new password for the account with this address:',
      'The link works once, for an hour, and signs you out everywhere. If it was not you, ignore this mail.',
    ],
    link: { label: 'Set a new password', url: dashboardLink(ctx, '/auth/reset-password') },
    token: 'RESET_PASSWORD',
  })

/** Tells someone that they were invited to a project; signing up with the address accepts. */
export const sendInvitationMail = (ctx: Ctx, to: string, projectName: string): Promise<void> =>
  sendServiceMail(ctx, {
    to,
    subject: `You are invited to ${projectName}`,
    paragraphs: [
      `You are invited to work on the project ${projectName}. Sign up with this address to accept, or sign in if you have an account:`,
      'If you do not know why, ignore this mail.',
    ],
    link: { label: 'Sign up', url: dashboardLink(ctx, '/auth/signup') },
  })
