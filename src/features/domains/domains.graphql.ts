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
import { verifyDomain } from './check-domain.ts'
import { readRecords, type StoredRecord } from './dns-records.rules.ts'
import { addDomainInput } from './domains.input.ts'
import { addDomain, deleteDomain, listDomains, rotateDkimKey } from './domains.ts'

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
      description:
        'What the record is for: DKIM, SPF, DMARC, RETURN_PATH, INBOUND, or OWNERSHIP (that the domain belongs to this project, where the provider verifies it for a whole account).',
    }),
    required: t.exposeBoolean('required', {
      description: 'Whether the domain needs the record to be verified; others are recommended.',
    }),
    status: t.exposeString('status', {
      description:
        'State of the record as of the last check: PENDING (not found yet), VERIFIED, or FAILED (something else was found, or it is gone).',
    }),
    found: t.stringList({
      nullable: true,
      description:
        'What the last check found under this name and type, at most 5 texts of 1,000 characters; empty when there is nothing, null when nobody has looked or the DNS gave no answer.',
      resolve: ({ found }) => found ?? null,
    }),
    message: t.string({
      nullable: true,
      description: 'What to change, or why the check says nothing; null when there is nothing to say.',
      resolve: ({ message }) => message ?? null,
    }),
  }),
})

export const DomainRef = builder.prismaObject('Domain', {
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
    projectArgument: 'projectId',
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
    role: 'ADMIN',
    rest: create('/domains', 'Domains', { errors: ['CONFLICT', 'EXTERNAL_SERVICE_ERROR'] }),
    args: { input: t.arg(inputArgument('AddDomainInput', addDomainInput)) },
    resolve: (_root, { input }, ctx) => addDomain(ctx, input),
  }),
)

builder.queryField('verifyDomain', (t) =>
  t.field({
    description:
      'Looks at the DNS records of a domain now and returns it with what was found; at most 60 times a minute, with new domains and keys counted as well. It is also done every 5 minutes while records are awaited, and hourly after that. An answer that does not come changes nothing.',
    type: DomainRef,
    access: 'secretKey',
    role: 'ADMIN',
    rest: get('/domains/:id/verify', 'Domains', { errors: ['DOMAIN_NOT_FOUND'] }),
    args: { id: t.arg.id(requiredId('domain')) },
    resolve: (_root, { id }, ctx) => verifyDomain(ctx, id),
  }),
)

builder.mutationField('rotateDkimKey', (t) =>
  t.field({
    description:
      'Begins to replace the DKIM key of a domain and returns it with the new record to publish. The new key signs once a check finds its record; the old record has to stay for 7 days after that. CONFLICT while a replacement is going on, and where the mail provider has keys of its own.',
    type: DomainRef,
    access: 'secretKey',
    role: 'ADMIN',
    args: { domainId: t.arg.id(requiredId('domain')) },
    resolve: (_root, { domainId }, ctx) => rotateDkimKey(ctx, domainId),
  }),
)

builder.mutationField('deleteDomain', (t) =>
  t.field({
    description:
      'Removes a sender domain; mail from it is refused from then on, and mail that still waits is given up. CONFLICT while scheduled campaigns, campaigns under way or workflows that are on send from it, unless it is forced.',
    type: 'Boolean',
    access: 'secretKey',
    role: 'ADMIN',
    rest: remove('/domains/:id', 'Domains', { errors: ['DOMAIN_NOT_FOUND', 'CONFLICT'] }),
    args: {
      id: t.arg.id(requiredId('domain')),
      force: t.arg.boolean({
        description:
          'Removes it even while campaigns and workflows send from it; their mail fails. Default: false.',
      }),
    },
    resolve: async (_root, { id, force }, ctx) => {
      await deleteDomain(ctx, id, { force: force === true })
      return true
    },
  }),
)
