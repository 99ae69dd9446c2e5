import type { Consuming, Usage } from '../changes/interests.ts'
import { builder } from './builder.ts'
import { idOf } from './common-fields.ts'

const AudienceUserRef = builder.objectRef<Consuming>('AudienceUser').implement({
  description: 'A segment, campaign or workflow that refers to something.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('segment, campaign or workflow')),
    name: t.exposeString('name', { description: 'Name of the segment, campaign or workflow.' }),
  }),
})

/** The references to a field, an event or a segment; an interface, so that each can add fields of its own. */
export const AudienceUsageRef = builder.interfaceRef<Usage>('AudienceUsage').implement({
  description: 'Everything that refers to a thing that filters can name: a custom field or an event.',
  fields: (t) => ({
    usedInSegments: t.expose('usedInSegments', {
      type: [AudienceUserRef],
      description: 'Segments whose condition refers to it.',
    }),
    usedInCampaigns: t.expose('usedInCampaigns', {
      type: [AudienceUserRef],
      description: 'Campaigns that refer to it and are not yet sent or cancelled.',
    }),
    usedInWorkflows: t.expose('usedInWorkflows', {
      type: [AudienceUserRef],
      description: 'Workflows, enabled or not, that refer to it.',
    }),
  }),
})
