import type {
  CampaignStatus as CampaignStatusValue,
  MessageType as MessageTypeValue,
} from '../generated/prisma/enums.ts'
import { defineEnum } from './inputs/zod-input.ts'

/** Enumerations that more than one feature shows. */
export const MessageType = defineEnum<MessageTypeValue>('MessageType', {
  description: 'What a message is, and so who may get it.',
  values: {
    TRANSACTIONAL: { description: 'Goes to everyone; no unsubscribe link.' },
    MARKETING: { description: 'Goes to subscribed contacts, with an unsubscribe link.' },
    HEADLESS: { description: 'As MARKETING, without the footer.' },
  },
})

export const CampaignStatus = defineEnum<CampaignStatusValue>('CampaignStatus', {
  description: 'Where a campaign is on its way.',
  values: {
    DRAFT: { description: 'Can be changed; nothing is sent yet.' },
    SCHEDULED: { description: 'Will be sent at its time.' },
    SENDING: {},
    SENT: {},
    CANCELLED: {},
  },
})
