import type { Ctx } from '../../ctx.ts'
import { readRecords } from '../domains/dns-records.rules.ts'
import { listDomains } from '../domains/domains.ts'
import { mailWindows } from '../reputation/reputation.ts'
import { authenticationOf, type ComplianceCheck, ratesOf, serviceChecks } from './compliance.rules.ts'

export type ComplianceReport = {
  /** The rates are about mail from then on. */
  since: Date
  sent: number
  checks: ComplianceCheck[]
}

/** How the project's mail stands by the rules of Gmail, Yahoo and Outlook for who sends much. Another project's id is 404. */
export async function complianceReport(ctx: Ctx, projectId: string): Promise<ComplianceReport> {
  const domains = await listDomains(ctx, projectId)
  const { mail, apiUrl } = ctx.config
  const { from, sevenDays } = await mailWindows(ctx)
  return {
    since: from,
    sent: sevenDays.sent,
    checks: [
      ...domains.flatMap(({ domain, records }) =>
        authenticationOf({ domain, records: readRecords(records) }, mail.provider),
      ),
      ...serviceChecks(apiUrl.startsWith('https:'), mail),
      ...ratesOf(sevenDays),
    ],
  }
}
