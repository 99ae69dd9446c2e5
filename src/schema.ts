import { builder } from './graphql/builder.ts'
import './features/configuration/configuration.graphql.ts'
import './features/contact-jobs/contact-jobs.graphql.ts'
import './features/contacts/contacts.graphql.ts'
import './features/contact-fields/custom-fields.graphql.ts'
import './features/domains/domains.graphql.ts'
import './features/emails/emails.graphql.ts'
import './features/sending/preview-template.graphql.ts'
import './features/sending/send.graphql.ts'
import './features/events/events.graphql.ts'
import './features/events/track.graphql.ts'
import './features/segments/audience-preview.graphql.ts'
import './features/segments/segments.graphql.ts'
import './features/templates/templates.graphql.ts'
import './features/uploads/uploads.graphql.ts'
import './features/verify/verify.graphql.ts'

/** The whole API, in the order in which its parts are imported here. */
export const schema = builder.toSchema({ sortSchema: false })
