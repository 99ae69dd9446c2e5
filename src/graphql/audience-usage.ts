import type { Consuming, Usage } from '../changes/interests.ts'
import { builder } from './builder.ts'

const AudienceUser = builder.objectRef<Consuming>('AudienceUser').implement({
  description: 'A segment, campaign or workflow that refers to something.',
  fields: (t) => ({ id: t.exposeID('id'), name: t.exposeString('name') }),
})

/** What refers to a field, an event or a segment; an interface, so that each can say more about itself. */
export const AudienceUsage = builder.interfaceRef<Usage>('AudienceUsage').implement({
  description: 'What refers to something that filters can name.',
  fields: (t) => ({
    usedInSegments: t.expose('usedInSegments', { type: [AudienceUser] }),
    usedInCampaigns: t.expose('usedInCampaigns', {
      type: [AudienceUser],
      description: 'Those that are not yet sent or cancelled.',
    }),
    usedInWorkflows: t.expose('usedInWorkflows', { type: [AudienceUser] }),
  }),
})
