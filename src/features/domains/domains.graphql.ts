import type { DomainStatus } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import {
  CREATED_AT,
  idOf,
  PROJECT_ID,
  requiredId,
  timeWhen,
  UPDATED_AT,
} from '../../graphql/common-fields.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { create, get, remove } from '../../graphql/rest-route.ts'
import { readRecords, type StoredRecord } from './dns-records.rules.ts'
import { addDomainInput } from './domains.input.ts'
import { addDomain, deleteDomain, listDomains } from './domains.ts'

const DomainStatusRef = builder.enumType('DomainStatus', {
  description: 'State of the verification of a sender domain.',
  values: {
    PENDING: { description: 'A domain whose DNS records are not confirmed; mail from it is refused.' },
    VERIFIED: { description: 'A domain that mail may be sent from.' },
    FAILED: { description: 'A domain whose verification failed; mail from it is refused.' },
  } satisfies Record<DomainStatus, object>,
})

const DnsRecordRef = builder.objectRef<StoredRecord>('DnsRecord').implement({
  description: 'A record to publish in the DNS of a domain.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'Type of the DNS record: TXT, CNAME or MX.' }),
    name: t.exposeString('name', {
      description: 'Full name of the record, such as mailwright._domainkey.mail.example.com.',
    }),
    value: t.exposeString('value', {
      description: 'Content of the record, exactly as it is to be published.',
    }),
    priority: t.exposeInt('priority', {
      nullable: true,
      description: 'Preference of an MX record; null for other types.',
    }),
    purpose: t.exposeString('purpose', {
      description: 'What the record is for: DKIM, SPF, DMARC, RETURN_PATH, TRACKING or INBOUND.',
    }),
    required: t.exposeBoolean('required', {
      description: 'Whether the domain needs the record to be verified; others are recommended.',
    }),
    status: t.exposeString('status', {
      description: 'State of the record as of the last check: PENDING, VERIFIED or FAILED.',
    }),
  }),
})

const DomainRef = builder.prismaObject('Domain', {
  description: 'A domain that mail of the project may come from once it is verified.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('domain')),
    projectId: t.exposeID('projectId', PROJECT_ID),
    domain: t.exposeString('domain', {
      description: 'Domain name in lower case; international names in their ASCII form (xn--…).',
    }),
    status: t.expose('status', { type: DomainStatusRef, description: 'State of the verification.' }),
    verified: t.boolean({
      description: 'Whether mail may be sent from the domain: its status is VERIFIED.',
      resolve: ({ status }) => status === 'VERIFIED',
    }),
    records: t.field({
      type: [DnsRecordRef],
      description: 'DNS records to publish, each with its state.',
      resolve: ({ records }) => readRecords(records),
    }),
    lastCheckedAt: t.expose('lastCheckedAt', timeWhen('the DNS records were last looked up')),
    verifiedAt: t.expose('verifiedAt', timeWhen('the domain was verified')),
    createdAt: t.expose('createdAt', CREATED_AT),
    updatedAt: t.expose('updatedAt', UPDATED_AT),
  }),
})

builder.queryField('domains', (t) =>
  t.field({
    description: 'The sender domains of a project, verified and pending, newest first.',
    type: [DomainRef],
    access: 'secretKey',
    rest: get('/domains/project/:projectId', 'Domains'),
    args: {
      projectId: t.arg.id({
        required: true,
        description: 'Id of the project that the key belongs to, a UUID; any other is 404.',
      }),
    },
    resolve: (_root, { projectId }, ctx) => listDomains(ctx, projectId),
  }),
)

builder.mutationField('addDomain', (t) =>
  t.field({
    description: 'Adds a sender domain and returns the DNS records to publish.',
    type: DomainRef,
    access: 'secretKey',
    rest: create('/domains', 'Domains', { errors: ['CONFLICT'] }),
    args: { input: t.arg(inputArgument('AddDomainInput', addDomainInput)) },
    resolve: (_root, { input }, ctx) => addDomain(ctx, input),
  }),
)

builder.mutationField('deleteDomain', (t) =>
  t.field({
    description:
      'Removes a sender domain; mail from it is refused from then on, and mail that still waits is given up.',
    type: 'Boolean',
    access: 'secretKey',
    rest: remove('/domains/:id', 'Domains', { errors: ['DOMAIN_NOT_FOUND'] }),
    args: { id: t.arg.id(requiredId('domain')) },
    resolve: async (_root, { id }, ctx) => {
      await deleteDomain(ctx, id)
      return true
    },
  }),
)
