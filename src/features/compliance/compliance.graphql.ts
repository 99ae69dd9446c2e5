import { builder } from '../../graphql/builder.ts'
import { CHECK_NAMES, type CheckState, type ComplianceCheck } from './compliance.rules.ts'
import { type ComplianceReport, complianceReport } from './compliance.ts'

const ComplianceCheckNameRef = builder.enumType('ComplianceCheckName', {
  description: 'A rule for who sends much mail.',
  values: CHECK_NAMES,
})

const ComplianceStateRef = builder.enumType('ComplianceState', {
  description: 'How mail stands by a rule.',
  values: {
    PASS: { description: 'As it is asked for.' },
    WARN: { description: 'Mail still passes; something should be done.' },
    FAIL: { description: 'Mailbox providers will put off, refuse or hide mail.' },
    UNKNOWN: { description: 'The service cannot know, or has not looked yet.' },
  } satisfies Record<CheckState, object>,
})

const ComplianceCheckRef = builder.objectRef<ComplianceCheck>('ComplianceCheck').implement({
  description: 'One rule, for a sender domain or for all mail of the project.',
  fields: (t) => ({
    name: t.expose('name', { type: ComplianceCheckNameRef, description: 'The rule that it is about.' }),
    domain: t.exposeString('domain', {
      nullable: true,
      description: 'The sender domain that it is about; null for all mail of the project.',
    }),
    state: t.expose('state', { type: ComplianceStateRef, description: 'Whether the rule is kept.' }),
    value: t.exposeString('value', {
      nullable: true,
      description: 'What was found, such as a DNS record or a rate in percent; null for nothing.',
    }),
    advice: t.exposeString('advice', {
      nullable: true,
      description: 'What to do; null when there is nothing to do.',
    }),
    source: t.exposeString('source', { description: 'Address of the page that asks for it.' }),
  }),
})

const ComplianceReportRef = builder.objectRef<ComplianceReport>('ComplianceReport').implement({
  description:
    'How the mail of a project stands by the rules of Gmail, Yahoo and Outlook for bulk senders, by the last check of its domains.',
  fields: (t) => ({
    since: t.expose('since', {
      type: 'DateTime',
      description:
        'The rates are about mail from then on: the last seven days (UTC), the present one included.',
    }),
    sent: t.exposeInt('sent', { description: 'Messages since then.' }),
    checks: t.field({
      type: [ComplianceCheckRef],
      description: 'The rules: of each domain, the newest first, then of all mail.',
      resolve: ({ checks }) => checks,
    }),
  }),
})

builder.queryField('complianceReport', (t) =>
  t.field({
    description:
      'Tells for each sender domain and for all mail of a project which rules for bulk senders are kept, and what to do.',
    type: ComplianceReportRef,
    access: 'secretKey',
    projectArgument: 'projectId',
    args: {
      projectId: t.arg.id({
        required: true,
        description: 'Id of the project that the key belongs to, a UUID; any other is 404.',
      }),
    },
    resolve: (_root, { projectId }, ctx) => complianceReport(ctx, projectId),
  }),
)
