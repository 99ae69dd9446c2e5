import type { Sql } from '../../db/sql.ts'
import type { Tracking } from '../../generated/prisma/enums.ts'
import type { MessageSource } from './compose.ts'
import { readCampaignSources } from './emails.sql.ts'

/** A campaign, or one of its variants by its number. */
export type CampaignContent = { campaignId: string; variant: number | null }

/** What messages of a campaign say, and whether they are tracked. */
export type CampaignSource = MessageSource & { tracking: Tracking }

/** The content as the key of a map. */
export const contentKey = ({ campaignId, variant }: CampaignContent): string =>
  `${campaignId} ${variant ?? 'own'}`

/** What campaigns and their variants say, by `contentKey`; it does not change once they have begun. What is gone is left out. */
export async function campaignSources(
  sql: Sql,
  projectId: string,
  wanted: CampaignContent[],
): Promise<Map<string, CampaignSource>> {
  const apart = [...new Map(wanted.map((one) => [contentKey(one), one])).values()]
  const rows = await sql(readCampaignSources, {
    projectId,
    ids: apart.map(({ campaignId }) => campaignId),
    variants: apart.map(({ variant }) => variant),
  })
  return new Map(
    rows.map(({ id: campaignId, variant, from: email, fromName, ...content }) => [
      contentKey({ campaignId, variant }),
      { ...content, from: { email, name: fromName ?? undefined } },
    ]),
  )
}
