import { builder } from './graphql/builder.ts'
import './features/domains/domains.graphql.ts'
import './features/emails/emails.graphql.ts'
import './features/emails/send.graphql.ts'
import './features/events/track.graphql.ts'
import './features/templates/templates.graphql.ts'

/** The whole API, in the order in which its parts are imported here. */
export const schema = builder.toSchema({ sortSchema: false })
