import { z } from 'zod'
import { file, jsonObject, optional } from '../../lib/fields.ts'

export const MAX_IMPORT_BYTES = 5 * 1024 * 1024

export const importContactsInput = z
  .object({
    file: file.describe('CSV file with a header row, at most 5 MB; UTF-8, with comma, semicolon or tab.'),
  })
  .meta({ description: 'The CSV file of contacts to import.' })

const MAX_IDS = 1_000
/** Most ids that a filter may exclude. */
const MAX_EXCLUDED = 10_000
const MAX_ID_LENGTH = 64
const contactId = z.string().max(MAX_ID_LENGTH)

export const bulkContactsInput = z
  .object({
    contactIds: optional(z.array(contactId).min(1).max(MAX_IDS)).describe(
      `Ids of the contacts, 1 to ${MAX_IDS}. Either they or a filter must be given.`,
    ),
    filter: optional(jsonObject).describe(
      'Filter tree, instead of ids. It is evaluated when the job runs, for contacts that existed at the time of the request.',
    ),
    excludeIds: optional(z.array(contactId).max(MAX_EXCLUDED)).describe(
      `Ids of contacts to leave out although the filter is true for them, at most ${MAX_EXCLUDED}.`,
    ),
  })
  .refine(({ contactIds, filter }) => (contactIds === undefined) !== (filter === undefined), {
    error: 'must be given, or a filter, and not both',
    path: ['contactIds'],
    params: { code: 'custom' },
  })
  .meta({
    description: 'The contacts to change: their ids, or a filter.',
    examples: [{ contactIds: ['0197a3c2-5e00-7000-8000-4d61696c7772'] }],
  })
