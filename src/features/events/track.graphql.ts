import { builder } from '../../graphql/builder.ts'
import { idempotencyArguments } from '../../graphql/common-fields.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { post } from '../../graphql/rest-route.ts'
import { trackContactEventInput, trackInput } from './track.input.ts'
import { type TrackResult, trackEvent } from './track.ts'
import { trackContactEvent } from './track-contact-event.ts'

const TrackEventResultRef = builder.objectRef<TrackResult>('TrackEventResult').implement({
  description: 'Outcome of tracking an event.',
  fields: (t) => ({
    contact: t.exposeID('contact', {
      description: 'Id of the contact that the event was recorded for, a UUID; it may be new.',
    }),
    event: t.exposeID('event', { description: 'Id of the recorded event, a UUID v7.' }),
    timestamp: t.expose('timestamp', {
      type: 'DateTime',
      description: 'Time when the event was recorded, in UTC with milliseconds.',
    }),
  }),
})

builder.mutationField('trackEvent', (t) =>
  t.field({
    description: 'Records an event of a contact, which is created or updated in the same commit.',
    type: TrackEventResultRef,
    access: 'publicKey',
    rest: post('/v1/track', 'Public API', { wrapped: true, rechecksKey: true }),
    idempotent: true,
    args: {
      input: t.arg(inputArgument('TrackEventInput', trackInput)),
      ...idempotencyArguments,
    },
    resolve: (_root, { input }, ctx) => trackEvent(ctx, input),
  }),
)

builder.mutationField('trackContactEvent', (t) =>
  t.field({
    description:
      'Records an event with the secret key: as trackEvent, or for a contact that is named by its id.',
    type: TrackEventResultRef,
    access: 'secretKey',
    rest: post('/events/track', 'Events', { wrapped: true, errors: ['CONTACT_NOT_FOUND'] }),
    args: { input: t.arg(inputArgument('TrackContactEventInput', trackContactEventInput)) },
    resolve: (_root, { input }, ctx) => trackContactEvent(ctx, input),
  }),
)
