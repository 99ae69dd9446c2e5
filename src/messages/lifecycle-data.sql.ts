/** What every event of a message says of it: a jsonb expression over the row `email` of `emails`. */
export const lifecycleData = (
  email: string,
): string => `jsonb_build_object('emailId', ${email}.id, 'subject', ${email}.subject,
  'from', ${email}."from", 'messageId', ${email}.message_id, 'templateId', ${email}.template_id,
  'campaignId', ${email}.campaign_id, 'sourceType', ${email}.source_type)`
