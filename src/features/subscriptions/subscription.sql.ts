import { heard, subscriptionCtes } from '../../changes/changes.sql.ts'
import { ERASED } from '../../db/kept-contacts.sql.ts'
import { statement } from '../../db/sql.ts'
import type { Consumer } from '../../generated/prisma/enums.ts'
import type { JsonValue } from '../../lib/json.ts'

export type LinkedContact = {
  email: string
  subscribed: boolean
  /** When the state last changed; null when it never did. */
  since: Date | null
  /** The value that the contact's data has, of any type. */
  locale: JsonValue | undefined
  /** BCP 47 tag of the project's language. */
  language: string
  /** The receiver of the mail with the link; null when the mail is not known. */
  sentTo: string | null
  projectName: string
  /** The sender of the mail with the link; null when the mail is not known, the name also when it had none. */
  fromName: string | null
  fromEmail: string | null
}

/** The contact of a link. Keys: the primary ones. */
export const readLinkedContact = statement<
  { projectId: string; contactId: string; emailId: string },
  LinkedContact
>(
  'linked-contact',
  `select c.email, c.subscribed, change.created_at as since, c.data -> 'locale' as locale, p.language,
     e.to_email as "sentTo", p.name as "projectName", e.from_name as "fromName", e."from" as "fromEmail"
   from contacts c join projects p on p.id = c.project_id
     left join events change on change.project_id = c.project_id and change.id = c.subscription_event_id
     left join emails e on e.project_id = c.project_id and e.id = :emailId::uuid and e.contact_id = c.id
   where c.project_id = :projectId::uuid and c.id = :contactId::uuid and c.email not like '${ERASED}%'`,
)

/** Finds the message with the link; no row when it has been removed. */
const MAIL = `(
     select id, campaign_id, source_type from emails
     where project_id = :projectId::uuid and id = :emailId::uuid and contact_id = :contactId::uuid
   )`

/**
 * The ledger remembers who has unsubscribed, so that nobody is counted twice for a campaign, whatever they do
 * afterwards. The tallies are added to the counters elsewhere.
 */
const CAMPAIGN_CTES = `
   counted as (
     update campaign_recipients r set unsubscribed_at = :now::timestamptz
     from changed join mail on mail.source_type = 'CAMPAIGN'
     where not changed.subscribed and r.project_id = changed.project_id and r.campaign_id = mail.campaign_id
       and r.contact_id = changed.id and r.unsubscribed_at is null
     returning r.project_id, r.campaign_id, r.variant
   ),
   tally as (
     insert into campaign_tallies (project_id, campaign_id, id, variant, unsubscribed)
     select project_id, campaign_id, :tallyId::uuid, variant, 1 from counted
   )`

/** `email` is the address that the contact must have. Keys: the primary ones. */
export const setSubscription = statement<
  {
    projectId: string
    contactId: string
    emailId: string
    subscribed: boolean
    eventId: string
    tallyId: string
    now: Date
    email: string
  },
  { known: boolean; changed: boolean; heard: Consumer[] }
>(
  'set-subscription',
  `with mail as ${MAIL},
   changed as (
     update contacts set subscribed = :subscribed::boolean, subscription_event_id = :eventId::uuid,
       updated_at = :now::timestamptz
     where project_id = :projectId::uuid and id = :contactId::uuid and email = :email
       and subscribed <> :subscribed::boolean
     returning project_id, id, :eventId::uuid as event_id, subscribed
   ),
   ${subscriptionCtes(`'link'`, {
     emailId: '(select id from mail)',
     data: `coalesce((select jsonb_build_object('campaignId', campaign_id) from mail
       where campaign_id is not null), '{}')`,
   })},
   ${CAMPAIGN_CTES}
   select exists (select from contacts where project_id = :projectId::uuid and id = :contactId::uuid
     and email = :email) as known, exists (select from changed) as changed,
     ${heard('heard_event')} as heard`,
)
