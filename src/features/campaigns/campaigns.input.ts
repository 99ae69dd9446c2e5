import { z } from 'zod'
import { id, jsonObject, optional } from '../../lib/fields.ts'
import { email, MESSAGE_SCHEMAS, MESSAGE_TEXTS, messageType } from '../../messages/message.input.ts'

const MAX_DATE = 100

const { name, description, subject, body, from, fromName, replyTo } = MESSAGE_SCHEMAS

export const campaignInput = z
  .object({
    name: name.describe(MESSAGE_TEXTS.name),
    description: optional(description).describe(MESSAGE_TEXTS.description),
    subject: subject.describe(MESSAGE_TEXTS.subject),
    body: body.describe(MESSAGE_TEXTS.body),
    from: from.describe(MESSAGE_TEXTS.from),
    fromName: optional(fromName).describe(MESSAGE_TEXTS.fromName),
    replyTo: optional(replyTo).describe(MESSAGE_TEXTS.replyTo),
    type: optional(messageType).describe('Kind of the messages; MARKETING by default.'),
    audienceType: z
      .enum(['ALL', 'SEGMENT', 'FILTERED'])
      .meta({ id: 'AudienceType', description: 'Whom the campaign is for.' }),
    segmentId: optional(id).describe('Id of the segment, a UUID. Required for SEGMENT, else ignored.'),
    audienceCondition: optional(jsonObject).describe(
      'Filter tree, as the condition of a segment. Required for FILTERED, else ignored.',
    ),
  })
  .refine(({ audienceType, segmentId }) => audienceType !== 'SEGMENT' || segmentId !== undefined, {
    error: 'is required when audienceType is SEGMENT',
    path: ['segmentId'],
    params: { code: 'required' },
  })
  .refine(
    ({ audienceType, audienceCondition }) => audienceType !== 'FILTERED' || audienceCondition !== undefined,
    {
      error: 'is required when audienceType is FILTERED',
      path: ['audienceCondition'],
      params: { code: 'required' },
    },
  )
  .meta({
    description: 'A campaign: what is sent, and to whom.',
    examples: [
      {
        name: 'Spring sale',
        subject: 'Spring is here, {{name ?? friend}}',
        body: '<p>Hello {{name ?? friend}}, everything is 20 % off this week.</p>',
        from: 'news@mail.example.com',
        audienceType: 'ALL',
      },
    ],
  })

export const sendCampaignInput = z
  .object({
    scheduledFor: optional(z.string().max(MAX_DATE)).describe(
      'Time to send at, ISO 8601 or anything else that the Date of JavaScript reads; without it the campaign is sent at once.',
    ),
  })
  .meta({
    description: 'When to send a campaign.',
    examples: [{ scheduledFor: '2030-05-01T08:00:00.000Z' }],
  })

export const localScheduleInput = z
  .object({
    localTime: z
      .string()
      .max(MAX_DATE)
      .describe(
        'Time by the clocks of the recipients, ISO 8601 without a time zone, such as 2030-05-01T08:00. The time zone of a contact is `timezone` of its data, an IANA name such as Europe/Berlin.',
      ),
    timeZone: optional(z.string().min(1).max(MAX_DATE)).describe(
      'IANA name of the time zone of contacts that have none, or one that is not known; UTC by default.',
    ),
  })
  .meta({
    description: 'When to send a campaign, by the clocks of its recipients.',
    examples: [{ localTime: '2030-05-01T08:00', timeZone: 'Europe/Berlin' }],
  })

export const testCampaignInput = z
  .object({
    email: email.describe('Address of a contact or of a member of the project.'),
  })
  .meta({ description: 'Whom to send a test to.', examples: [{ email: 'ada@example.org' }] })

export type CampaignInput = z.output<typeof campaignInput>
export type SendCampaignInput = z.output<typeof sendCampaignInput>
export type LocalScheduleInput = z.output<typeof localScheduleInput>
