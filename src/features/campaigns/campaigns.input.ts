import { z } from 'zod'
import { id, jsonObject, line, optional } from '../../lib/fields.ts'
import { MAX_SUBJECT } from '../../mail/headers.rules.ts'
import { email, messageType } from '../../messages/message.input.ts'

export const MAX_NAME = 255
const MAX_BODY = 1_000_000
const MAX_DESCRIPTION = 1_000
const MAX_FROM_NAME = 255
const MAX_DATE = 100

export const campaignInput = z
  .object({
    name: line(MAX_NAME)
      .min(1)
      .describe(`Internal name, never sent, 1 to ${MAX_NAME} characters; it need not be unique.`),
    description: optional(z.string().max(MAX_DESCRIPTION)).describe(
      `Internal note, never sent, at most ${MAX_DESCRIPTION} characters.`,
    ),
    subject: line(MAX_SUBJECT)
      .min(1)
      .describe(
        `Subject, 1 to ${MAX_SUBJECT} characters on one line; {{variable}} placeholders are filled for each recipient.`,
      ),
    body: z
      .string()
      .min(1)
      .max(MAX_BODY)
      .describe(
        `HTML, 1 to ${MAX_BODY.toLocaleString('en')} characters; {{variable}} placeholders are filled for each recipient.`,
      ),
    from: email.describe('Address of the sender; its domain must be verified for the project.'),
    fromName: optional(line(MAX_FROM_NAME)).describe(
      `Display name of the sender, at most ${MAX_FROM_NAME} characters.`,
    ),
    replyTo: optional(email).describe('Address for replies; without it they go to the sender.'),
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

export const testCampaignInput = z
  .object({
    email: email.describe('Address of a contact or of a member of the project.'),
  })
  .meta({ description: 'Whom to send a test to.', examples: [{ email: 'ada@example.org' }] })

export type CampaignInput = z.output<typeof campaignInput>
export type SendCampaignInput = z.output<typeof sendCampaignInput>
