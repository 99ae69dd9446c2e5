import { builder } from '../../graphql/builder.ts'
import { inputFromZod } from '../../graphql/inputs/zod-input.ts'
import { post } from '../../graphql/rest-route.ts'
import { type TrackResult, trackEvent, trackInput } from './track.ts'
import { trackContactEvent, trackContactEventInput } from './track-contact-event.ts'

const TrackEventInput = inputFromZod('TrackEventInput', trackInput)

const TrackEventResult = builder.objectRef<TrackResult>('TrackEventResult').implement({
  description: 'What a tracked event was recorded as.',
  fields: (t) => ({
    contact: t.exposeID('contact', { description: 'The id of the contact.' }),
    event: t.exposeID('event', { description: 'The id of the event.' }),
    timestamp: t.expose('timestamp', { type: 'DateTime', description: 'When the event was recorded.' }),
  }),
})

builder.mutationField('trackEvent', (t) =>
  t.field({
    description: 'Records an event of a contact, which is made or merged in the same commit.',
    type: TrackEventResult,
    access: 'publicKey',
    rest: post('/v1/track', 'Public API', { wrapped: true, rechecksKey: true }),
    idempotent: true,
    args: {
      input: t.arg({ type: TrackEventInput, required: true }),
      idempotencyKey: t.arg.string({
        description: '1 to 255 printable ASCII characters that nobody can guess.',
      }),
      idempotencyReplay: t.arg.boolean({ description: 'Answer a repeat with the first answer.' }),
    },
    resolve: (_root, { input }, ctx) => trackEvent(ctx, input),
  }),
)

builder.mutationField('trackContactEvent', (t) =>
  t.field({
    description:
      'Records an event with the secret key: as trackEvent, or for a contact that is named by its id.',
    type: TrackEventResult,
    access: 'secretKey',
    rest: post('/events/track', 'Events', { wrapped: true, errors: ['CONTACT_NOT_FOUND'] }),
    args: {
      input: t.arg({
        type: inputFromZod('TrackContactEventInput', trackContactEventInput),
        required: true,
      }),
    },
    resolve: (_root, { input }, ctx) => trackContactEvent(ctx, input),
  }),
)
