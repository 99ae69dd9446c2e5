import type { ContactJobType, JobState } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { CREATED_AT, idOf, timeWhen } from '../../graphql/common-fields.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { get, post } from '../../graphql/rest-route.ts'
import { type BulkResult, type FailedContact, readBulkResult } from './bulk.rules.ts'
import { startBulk } from './bulk.ts'
import { bulkContactsInput, importContactsInput, MAX_IMPORT_BYTES } from './contact-jobs.input.ts'
import { BULK_TYPES, type BulkType, type ContactJob, cancelJob, getJob } from './contact-jobs.ts'
import { type FailedRow, type ImportResult, readResult } from './import.rules.ts'
import { startImport } from './import.ts'
import { watchJob } from './watch-job.ts'

const ContactJobTypeRef = builder.enumType('ContactJobType', {
  description: 'Kind of work that a job does to contacts.',
  values: {
    IMPORT: { description: 'Creates and updates contacts from a CSV file.' },
    SUBSCRIBE: { description: 'Subscribes many contacts.' },
    UNSUBSCRIBE: { description: 'Unsubscribes many contacts.' },
    DELETE: { description: 'Deletes many contacts, each with its mail, events and memberships.' },
  } satisfies Record<ContactJobType, object>,
})

const JobStateRef = builder.enumType('JobState', {
  description: 'State of a background job.',
  values: {
    waiting: { description: 'A job that has not begun; the jobs of a project take turns.' },
    active: { description: 'A job that has begun and is not done.' },
    completed: { description: 'A job that is done; single rows or contacts may have failed.' },
    failed: {
      description:
        'A job that was given up, or cancelled with the reason "Cancelled."; its changes so far stay.',
    },
  } satisfies Record<JobState, object>,
})

const QueuedJobRef = builder.objectRef<{ jobId: string; message: string }>('QueuedJob').implement({
  description: 'A background job that was accepted.',
  fields: (t) => ({
    jobId: t.exposeID('jobId', {
      description: 'Id to ask for the progress of the job with, a UUID; kept for 30 days by default.',
    }),
    message: t.exposeString('message', {
      description: 'Sentence for people about what was accepted; the wording may change.',
    }),
  }),
})

/** Fields that an import and a bulk job share. */
const JobRef = builder.interfaceRef<ContactJob>('Job').implement({
  description: 'Work on contacts that is done in the background: an import or a bulk change.',
  resolveType: ({ type }) => (type === 'IMPORT' ? 'ImportJob' : 'BulkJob'),
  fields: (t) => ({
    id: t.exposeID('id', idOf('job')),
    type: t.expose('type', { type: ContactJobTypeRef, description: 'Kind of work that the job does.' }),
    state: t.expose('state', { type: JobStateRef, description: 'State that the job is in.' }),
    progress: t.exposeInt('progress', {
      description: 'Share of the work that is done, in percent: 0 to 100.',
    }),
    failedReason: t.exposeString('failedReason', {
      nullable: true,
      description: 'Sentence that says why the job failed; null unless it did.',
    }),
    createdAt: t.expose('createdAt', CREATED_AT),
    completedAt: t.expose('completedAt', timeWhen('the job completed or failed')),
  }),
})

const ImportErrorRef = builder.objectRef<FailedRow>('ImportError').implement({
  description: 'A row of the file that was not imported.',
  fields: (t) => ({
    row: t.exposeInt('row', {
      description: 'Number of the row as a spreadsheet counts; the header is row 1.',
    }),
    email: t.exposeString('email', {
      nullable: true,
      description: 'Address in the row, trimmed and in lower case; null when it has none.',
    }),
    error: t.exposeString('error', { description: 'Sentence that explains the error of the row.' }),
  }),
})

const ImportResultRef = builder.objectRef<ImportResult>('ImportResult').implement({
  description:
    'Outcome of an import so far. When it is done, each row is counted once in created, updated, unchanged or failed.',
  fields: (t) => ({
    totalRows: t.exposeInt('totalRows', { description: 'Number of rows of the file, without the header.' }),
    created: t.exposeInt('created', { description: 'Number of rows that created a contact.' }),
    updated: t.exposeInt('updated', { description: 'Number of rows that changed an existing contact.' }),
    unchanged: t.exposeInt('unchanged', {
      description: 'Number of rows that say nothing new about their contact.',
    }),
    failed: t.exposeInt('failed', { description: 'Number of rows that could not be imported.' }),
    errors: t.expose('errors', { type: [ImportErrorRef], description: 'Rows that failed, the first 100.' }),
  }),
})

const ImportJobRef = builder.objectRef<ContactJob>('ImportJob').implement({
  description: 'An import of contacts from a CSV file.',
  interfaces: [JobRef],
  fields: (t) => ({
    result: t.field({
      type: ImportResultRef,
      description: 'Outcome so far; all counts are 0 before the job begins.',
      resolve: ({ result }) => readResult(result),
    }),
  }),
})

const BulkErrorRef = builder.objectRef<FailedContact>('BulkError').implement({
  description: 'A contact that was not changed.',
  fields: (t) => ({
    contactId: t.exposeString('contactId', { description: 'Id as the request gave it, in lower case.' }),
    error: t.exposeString('error', { description: 'Sentence that says why it was not changed.' }),
  }),
})

const BulkResultRef = builder.objectRef<BulkResult>('BulkResult').implement({
  description:
    'Outcome of a bulk change so far. When it is done, each contact is counted once as success, unchanged or failure.',
  fields: (t) => ({
    totalRequested: t.exposeInt('totalRequested', {
      description: 'Number of ids in the request, each once; with a filter the contacts found so far.',
    }),
    successCount: t.exposeInt('successCount', {
      description: 'Number of contacts that were changed or deleted.',
    }),
    unchangedCount: t.exposeInt('unchangedCount', {
      description: 'Number of contacts that were in that state already.',
    }),
    failureCount: t.exposeInt('failureCount', {
      description: 'Number of ids that no contact of the project has.',
    }),
    errors: t.expose('errors', { type: [BulkErrorRef], description: 'Contacts that failed, the first 100.' }),
  }),
})

const BulkJobRef = builder.objectRef<ContactJob>('BulkJob').implement({
  description: 'A bulk change: many contacts are subscribed, unsubscribed or deleted.',
  interfaces: [JobRef],
  fields: (t) => ({
    result: t.field({
      type: BulkResultRef,
      description: 'Outcome so far; all counts are 0 before the job begins.',
      resolve: ({ result }) => readBulkResult(result),
    }),
  }),
})

builder.mutationField('importContacts', (t) =>
  t.field({
    description:
      'Imports contacts from a CSV file in the background. The first row names the columns: email is required, subscribed is optional, all others become data.',
    type: QueuedJobRef,
    access: 'secretKey',
    rest: post('/contacts/import', 'Contacts', {
      status: 202,
      shortErrorFor: 'anyField',
      upload: { field: 'file', maxBytes: MAX_IMPORT_BYTES },
    }),
    args: { input: t.arg(inputArgument('ImportContactsInput', importContactsInput)) },
    resolve: async (_root, { input }, ctx) => ({
      jobId: await startImport(ctx, input),
      message: 'The file is being imported.',
    }),
  }),
)

const bulkInput = inputArgument('BulkContactsInput', bulkContactsInput)

const bulkField = (name: string, path: string, type: BulkType, description: string): void =>
  builder.mutationField(name, (t) =>
    t.field({
      description,
      type: QueuedJobRef,
      access: 'secretKey',
      rest: post(path, 'Contacts', { status: 202, shortErrorFor: 'anyField' }),
      args: { input: t.arg(bulkInput) },
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
  'Deletes many contacts in the background, each with its mail, events and memberships.',
)

const JOB_ID = {
  required: true,
  description: 'Id of the job, as the request that queued it returned it.',
} as const

builder.queryField('importJob', (t) =>
  t.field({
    description: 'One import, with its progress and its outcome so far.',
    type: ImportJobRef,
    access: 'secretKey',
    rest: get('/contacts/import/:jobId', 'Contacts'),
    args: { jobId: t.arg.id(JOB_ID) },
    resolve: (_root, { jobId }, ctx) => getJob(ctx, jobId, ['IMPORT']),
  }),
)

builder.queryField('bulkJob', (t) =>
  t.field({
    description: 'One bulk change, with its progress and its outcome so far.',
    type: BulkJobRef,
    access: 'secretKey',
    rest: get('/contacts/bulk/:jobId', 'Contacts'),
    args: { jobId: t.arg.id(JOB_ID) },
    resolve: (_root, { jobId }, ctx) => getJob(ctx, jobId, BULK_TYPES),
  }),
)

const FOLLOWED = 'The job as it is at the moment, then after every change, until it has ended.'

builder.subscriptionField('importProgress', (t) =>
  t.field({
    description: FOLLOWED,
    type: ImportJobRef,
    access: 'secretKey',
    args: { jobId: t.arg.id(JOB_ID) },
    subscribe: (_root, { jobId }, ctx) => watchJob(ctx, jobId, ['IMPORT']),
    resolve: (job) => job,
  }),
)

builder.subscriptionField('bulkProgress', (t) =>
  t.field({
    description: FOLLOWED,
    type: BulkJobRef,
    access: 'secretKey',
    args: { jobId: t.arg.id(JOB_ID) },
    subscribe: (_root, { jobId }, ctx) => watchJob(ctx, jobId, BULK_TYPES),
    resolve: (job) => job,
  }),
)

builder.mutationField('cancelContactJob', (t) =>
  t.field({
    description: 'Stops an import or a bulk change. Its changes so far stay.',
    type: JobRef,
    access: 'secretKey',
    args: { jobId: t.arg.id(JOB_ID) },
    resolve: (_root, { jobId }, ctx) => cancelJob(ctx, jobId),
  }),
)
