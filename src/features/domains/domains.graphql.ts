import type { DomainStatus as DomainStatusValue } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { inputFromZod } from '../../graphql/inputs/zod-input.ts'
import { create, get, remove } from '../../graphql/rest-route.ts'
import { readRecords, type StoredRecord } from './dns-records.rules.ts'
import { addDomain, addDomainInput, deleteDomain, listDomains } from './domains.ts'

const DomainStatus = builder.enumType('DomainStatus', {
  values: { PENDING: {}, VERIFIED: {}, FAILED: {} } satisfies Record<DomainStatusValue, object>,
})

const DnsRecordType = builder.objectRef<StoredRecord>('DnsRecord').implement({
  description: 'A record to publish in the DNS of a domain.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'TXT, CNAME or MX.' }),
    name: t.exposeString('name'),
    value: t.exposeString('value'),
    priority: t.exposeInt('priority', { nullable: true, description: 'Of MX records.' }),
    purpose: t.exposeString('purpose', {
      description: 'DKIM, SPF, DMARC, RETURN_PATH, TRACKING or INBOUND.',
    }),
    required: t.exposeBoolean('required'),
    status: t.exposeString('status', { description: 'PENDING, VERIFIED or FAILED.' }),
  }),
})

const Domain = builder.prismaObject('Domain', {
  fields: (t) => ({
    id: t.exposeID('id'),
    projectId: t.exposeID('projectId'),
    domain: t.exposeString('domain'),
    status: t.expose('status', { type: DomainStatus }),
    verified: t.boolean({ resolve: ({ status }) => status === 'VERIFIED' }),
    records: t.field({ type: [DnsRecordType], resolve: ({ records }) => readRecords(records) }),
    lastCheckedAt: t.expose('lastCheckedAt', { type: 'DateTime', nullable: true }),
    verifiedAt: t.expose('verifiedAt', { type: 'DateTime', nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
})

builder.queryField('domains', (t) =>
  t.field({
    description: 'The sender domains of a project, verified and pending, newest first.',
    type: [Domain],
    access: 'secretKey',
    rest: get('/domains/project/:projectId', 'Domains'),
    args: { projectId: t.arg.id({ required: true }) },
    resolve: (_root, { projectId }, ctx) => listDomains(ctx, projectId),
  }),
)

builder.mutationField('addDomain', (t) =>
  t.field({
    description: 'Adds a sender domain and returns the DNS records to publish.',
    type: Domain,
    access: 'secretKey',
    rest: create('/domains', 'Domains', { errors: ['CONFLICT'] }),
    args: { input: t.arg({ type: inputFromZod('AddDomainInput', addDomainInput), required: true }) },
    resolve: (_root, { input }, ctx) => addDomain(ctx, input),
  }),
)

builder.mutationField('deleteDomain', (t) =>
  t.field({
    description:
      'Removes a sender domain; mail from it is refused from then on, and what still waits is given up.',
    type: 'Boolean',
    access: 'secretKey',
    rest: remove('/domains/:id', 'Domains', { errors: ['DOMAIN_NOT_FOUND'] }),
    args: { id: t.arg.id({ required: true }) },
    resolve: async (_root, { id }, ctx) => {
      await deleteDomain(ctx, id)
      return true
    },
  }),
)
