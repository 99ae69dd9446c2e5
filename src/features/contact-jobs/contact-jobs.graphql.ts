import type { JobState as StateValue, ContactJobType as TypeValue } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { inputFromZod } from '../../graphql/inputs/zod-input.ts'
import { get, post } from '../../graphql/rest-route.ts'
import { type BulkResult, type FailedContact, readBulkResult } from './bulk.rules.ts'
import { bulkContactsInput, startBulk } from './bulk.ts'
import { BULK_TYPES, type BulkType, type ContactJob, cancelJob, getJob } from './contact-jobs.ts'
import { followJob } from './follow-job.ts'
import { type FailedRow, type ImportResult, readResult } from './import.rules.ts'
import { importContactsInput, MAX_IMPORT_BYTES, startImport } from './import.ts'

const ContactJobType = builder.enumType('ContactJobType', {
  values: { IMPORT: {}, SUBSCRIBE: {}, UNSUBSCRIBE: {}, DELETE: {} } satisfies Record<TypeValue, object>,
})

const JobState = builder.enumType('JobState', {
  description: 'How far a job is. A cancelled one is `failed`, with the reason "Cancelled."',
  values: { waiting: {}, active: {}, completed: {}, failed: {} } satisfies Record<StateValue, object>,
})

const QueuedJob = builder.objectRef<{ jobId: string; message: string }>('QueuedJob').implement({
  description: 'Work that is done in the background.',
  fields: (t) => ({ jobId: t.exposeID('jobId'), message: t.exposeString('message') }),
})

/** What an import and a bulk job have in common. */
const Job = builder.interfaceRef<ContactJob>('Job').implement({
  description: 'Work that is done in the background.',
  resolveType: ({ type }) => (type === 'IMPORT' ? 'ImportJob' : 'BulkJob'),
  fields: (t) => ({
    id: t.exposeID('id'),
    type: t.expose('type', { type: ContactJobType }),
    state: t.expose('state', { type: JobState }),
    progress: t.exposeInt('progress', { description: '0 to 100.' }),
    failedReason: t.exposeString('failedReason', { nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    completedAt: t.expose('completedAt', { type: 'DateTime', nullable: true }),
  }),
})

const ImportError = builder.objectRef<FailedRow>('ImportError').implement({
  description: 'A row that was not imported.',
  fields: (t) => ({
    row: t.exposeInt('row', { description: 'As a spreadsheet numbers it; the header is row 1.' }),
    email: t.exposeString('email', { nullable: true, description: 'In lower case.' }),
    error: t.exposeString('error'),
  }),
})

const ImportResultRef = builder.objectRef<ImportResult>('ImportResult').implement({
  description: 'What has come of an import so far.',
  fields: (t) => ({
    totalRows: t.exposeInt('totalRows', { description: 'Rows of the file without the header.' }),
    created: t.exposeInt('created'),
    updated: t.exposeInt('updated'),
    unchanged: t.exposeInt('unchanged'),
    failed: t.exposeInt('failed'),
    errors: t.expose('errors', { type: [ImportError], description: 'The first 100.' }),
  }),
})

const ImportJob = builder.objectRef<ContactJob>('ImportJob').implement({
  description: 'The import of a CSV file.',
  interfaces: [Job],
  fields: (t) => ({
    result: t.field({ type: ImportResultRef, resolve: ({ result }) => readResult(result) }),
  }),
})

const BulkError = builder.objectRef<FailedContact>('BulkError').implement({
  description: 'A contact that was not changed.',
  fields: (t) => ({ contactId: t.exposeString('contactId'), error: t.exposeString('error') }),
})

const BulkResultRef = builder.objectRef<BulkResult>('BulkResult').implement({
  description: 'What has come of a bulk change so far.',
  fields: (t) => ({
    totalRequested: t.exposeInt('totalRequested', { description: 'With a filter: found so far.' }),
    successCount: t.exposeInt('successCount'),
    unchangedCount: t.exposeInt('unchangedCount', { description: 'They were in that state already.' }),
    failureCount: t.exposeInt('failureCount', { description: 'There are no such contacts.' }),
    errors: t.expose('errors', { type: [BulkError], description: 'The first 100.' }),
  }),
})

const BulkJob = builder.objectRef<ContactJob>('BulkJob').implement({
  description: 'A change of many contacts.',
  interfaces: [Job],
  fields: (t) => ({
    result: t.field({ type: BulkResultRef, resolve: ({ result }) => readBulkResult(result) }),
  }),
})

builder.mutationField('importContacts', (t) =>
  t.field({
    description:
      'Imports contacts from a CSV file in the background. The first row names the columns: email, perhaps subscribed, all others become data.',
    type: QueuedJob,
    access: 'secretKey',
    rest: post('/contacts/import', 'Contacts', {
      status: 202,
      shortErrorFor: 'anyField',
      upload: { field: 'file', maxBytes: MAX_IMPORT_BYTES },
    }),
    args: {
      input: t.arg({ type: inputFromZod('ImportContactsInput', importContactsInput), required: true }),
    },
    resolve: async (_root, { input }, ctx) => ({
      jobId: await startImport(ctx, input),
      message: 'The file is being imported.',
    }),
  }),
)

const BulkContactsInput = inputFromZod('BulkContactsInput', bulkContactsInput)

const bulkField = (name: string, path: string, type: BulkType, description: string): void =>
  builder.mutationField(name, (t) =>
    t.field({
      description,
      type: QueuedJob,
      access: 'secretKey',
      rest: post(path, 'Contacts', { status: 202, shortErrorFor: 'anyField' }),
      args: { input: t.arg({ type: BulkContactsInput, required: true }) },
      resolve: async (_root, { input }, ctx) => ({
        jobId: await startBulk(ctx, type, input),
        message: 'The contacts are being changed.',
      }),
    }),
  )

bulkField(
  'bulkSubscribeContacts',
  '/contacts/bulk-subscribe',
  'SUBSCRIBE',
  'Subscribes many contacts in the background.',
)
bulkField(
  'bulkUnsubscribeContacts',
  '/contacts/bulk-unsubscribe',
  'UNSUBSCRIBE',
  'Unsubscribes many contacts in the background.',
)
bulkField(
  'bulkDeleteContacts',
  '/contacts/bulk-delete',
  'DELETE',
  'Deletes many contacts in the background, each with all that is about it.',
)

const jobId = { required: true, description: 'As the request that queued the job was answered.' } as const

builder.queryField('importJob', (t) =>
  t.field({
    description: 'How far an import is.',
    type: ImportJob,
    access: 'secretKey',
    rest: get('/contacts/import/:jobId', 'Contacts'),
    args: { jobId: t.arg.id(jobId) },
    resolve: (_root, { jobId }, ctx) => getJob(ctx, jobId, ['IMPORT']),
  }),
)

builder.queryField('bulkJob', (t) =>
  t.field({
    description: 'How far a bulk change is.',
    type: BulkJob,
    access: 'secretKey',
    rest: get('/contacts/bulk/:jobId', 'Contacts'),
    args: { jobId: t.arg.id(jobId) },
    resolve: (_root, { jobId }, ctx) => getJob(ctx, jobId, BULK_TYPES),
  }),
)

const followed = 'The job as it is now, then at every change, until it has ended.'

builder.subscriptionField('importProgress', (t) =>
  t.field({
    description: followed,
    type: ImportJob,
    access: 'secretKey',
    args: { jobId: t.arg.id(jobId) },
    subscribe: (_root, { jobId }, ctx) => followJob(ctx, jobId, ['IMPORT']),
    resolve: (job) => job,
  }),
)

builder.subscriptionField('bulkProgress', (t) =>
  t.field({
    description: followed,
    type: BulkJob,
    access: 'secretKey',
    args: { jobId: t.arg.id(jobId) },
    subscribe: (_root, { jobId }, ctx) => followJob(ctx, jobId, BULK_TYPES),
    resolve: (job) => job,
  }),
)

builder.mutationField('cancelContactJob', (t) =>
  t.field({
    description: 'Stops an import or a bulk change. What it has done stays done.',
    type: Job,
    access: 'secretKey',
    args: { jobId: t.arg.id(jobId) },
    resolve: (_root, { jobId }, ctx) => cancelJob(ctx, jobId),
  }),
)
