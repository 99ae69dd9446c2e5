import type { Named } from '../audience/usage.ts'
import { builder } from './builder.ts'

/** Something that refers to a field, an event or a segment. */
export const AudienceUser = builder.objectRef<Named>('AudienceUser').implement({
  description: 'A segment, campaign or workflow that refers to something.',
  fields: (t) => ({ id: t.exposeID('id'), name: t.exposeString('name') }),
})
