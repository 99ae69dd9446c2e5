import type { Sql } from '../../db/sql.ts'
import type { Tracking } from '../../generated/prisma/enums.ts'
import type { MessageSource } from './compose.ts'
import { readCampaignSources } from './emails.sql.ts'

/** What messages of a campaign say, and whether they are tracked. */
export type CampaignSource = MessageSource & { tracking: Tracking }

/** What campaigns say, by their ids; it does not change once they have begun. Those that are gone are left out. */
export async function campaignSources(
  sql: Sql,
  projectId: string,
  ids: string[],
): Promise<Map<string, CampaignSource>> {
  const rows = await sql(readCampaignSources, { projectId, ids })
  return new Map(
    rows.map(({ id, from: email, fromName, ...content }) => [
      id,
      { ...content, from: { email, name: fromName ?? undefined } },
    ]),
  )
}
