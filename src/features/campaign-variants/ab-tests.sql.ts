import { DATABASE_NOW } from '../../db/database-clock.ts'
import { statement } from '../../db/sql.ts'
import type { CampaignCounts } from '../../messages/campaign-counts.rules.ts'
import { countersOf, SUMS } from '../../messages/ledger.sql.ts'

/** A variant with what it says, also where that is what the campaign says, and its counters at this moment. */
export type Variant = CampaignCounts & { number: number; subject: string; body: string; weight: number }

/** The variants of a campaign, in their order. Keys: the primary ones. */
export const readVariants = statement<{ projectId: string; campaignId: string }, Variant>(
  'read-campaign-variants',
  `select v.number, coalesce(v.subject, c.subject) as subject, coalesce(v.body, c.body) as body, v.weight,
     ${countersOf('v')}
   from campaign_variants v
   join campaigns c on c.project_id = v.project_id and c.id = v.campaign_id
   left join lateral (
     select ${SUMS} from campaign_tallies where project_id = v.project_id and campaign_id = v.campaign_id
       and variant = v.number) t on true
   where v.project_id = :projectId::uuid and v.campaign_id = :campaignId::uuid order by v.number`,
)

/** How many bytes the texts of the variants have together. Keys: the primary ones. */
export const variantBytes = statement<{ projectId: string; campaignId: string }, { bytes: number }>(
  'campaign-variant-bytes',
  `select coalesce(sum(octet_length(coalesce(v.body, c.body)) + octet_length(coalesce(v.subject, c.subject))), 0)::int
     as bytes
   from campaign_variants v join campaigns c on c.project_id = v.project_id and c.id = v.campaign_id
   where v.project_id = :projectId::uuid and v.campaign_id = :campaignId::uuid`,
)

/** The counters of the variants of a campaign, in their order, and no texts. Keys: the primary ones. */
export const variantResults = statement<
  { projectId: string; campaignId: string },
  CampaignCounts & { number: number }
>(
  'campaign-variant-results',
  `select v.number, ${countersOf('v')}
   from campaign_variants v
   left join lateral (
     select ${SUMS} from campaign_tallies where project_id = v.project_id and campaign_id = v.campaign_id
       and variant = v.number) t on true
   where v.project_id = :projectId::uuid and v.campaign_id = :campaignId::uuid order by v.number`,
)

/** Milliseconds until the winner is chosen; the first call sets the time. */
export const setDecision = statement<
  { projectId: string; id: string; clockShift: number },
  { afterMs: number }
>(
  'set-campaign-decision',
  `update campaigns set decide_at = coalesce(decide_at, ${DATABASE_NOW} + test_minutes * interval '1 minute')
   where project_id = :projectId::uuid and id = :id::uuid
   returning (1000 * extract(epoch from decide_at - ${DATABASE_NOW}))::float8 as "afterMs"`,
)

/** The rest of a campaign's audience gets this variant, unless another one has been chosen. */
export const setWinner = statement<
  { projectId: string; id: string; winner: number; now: Date },
  { winner: number }
>(
  'set-campaign-winner',
  `update campaigns set winner = :winner::int, updated_at = :now::timestamptz
   where project_id = :projectId::uuid and id = :id::uuid and winner is null
   returning winner`,
)
