import type { CampaignStatus, MessageType } from '../generated/prisma/enums.ts'
import { defineEnum } from './inputs/zod-input.ts'

/** Enumerations that more than one feature shows. */
export const MessageTypeRef = defineEnum<MessageType>('MessageType', {
  description: 'Kind of a message: it decides who may receive it and whether it has an unsubscribe link.',
  values: {
    TRANSACTIONAL: {
      description:
        'Mail that answers something the recipient did, such as a receipt: goes to unsubscribed contacts, too, and has no unsubscribe link.',
    },
    MARKETING: {
      description:
        'Mail to subscribed contacts only, with a footer that holds an unsubscribe link and the one-click List-Unsubscribe headers (RFC 8058).',
    },
    HEADLESS: {
      description:
        'Mail to subscribed contacts only, with the List-Unsubscribe headers but without the footer.',
    },
  },
})

export const CampaignStatusRef = defineEnum<CampaignStatus>('CampaignStatus', {
  description: 'State of a campaign between its creation and its end.',
  values: {
    DRAFT: { description: 'A campaign that can still be changed; nothing is sent yet.' },
    SCHEDULED: { description: 'A campaign that will be sent at its scheduled time.' },
    SENDING: { description: 'A campaign with messages that are still to be handed over.' },
    SENT: { description: 'A campaign whose every recipient is in a final state.' },
    CANCELLED: { description: 'A campaign that was stopped; messages that were not handed over never are.' },
  },
})
