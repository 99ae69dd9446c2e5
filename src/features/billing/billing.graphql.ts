import { builder } from '../../graphql/builder.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { get, post, put } from '../../graphql/rest-route.ts'
import { checkOut, openPortal, type Redirect } from './accounts.ts'
import { type Invoice, type Invoices, readInvoices } from './invoices.ts'
import { billingLimitsInput } from './limits.input.ts'
import {
  type Consumption,
  type Limit,
  type PerCategory,
  readConsumption,
  readLimits,
  setLimits,
  type UpcomingInvoice,
} from './limits.ts'

const BillingRedirectRef = builder.objectRef<Redirect>('BillingRedirect').implement({
  description: 'A page of the payment service.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'Where to send the browser; it is valid for a short time.' }),
  }),
})

const BillingLimitRef = builder.objectRef<Limit>('BillingLimit').implement({
  description: 'The cap of a category of messages, and what is used of it in this calendar month (UTC).',
  fields: (t) => ({
    limit: t.exposeInt('limit', { nullable: true, description: 'Most messages in a month; null: no cap.' }),
    usage: t.exposeInt('usage', { description: 'Messages of this month.' }),
    percentage: t.exposeFloat('percentage', {
      description: 'Part of the cap that is used, in percent with one decimal; 0 without a cap.',
    }),
    isWarning: t.exposeBoolean('isWarning', { description: 'Whether four fifths of the cap are used.' }),
    isBlocked: t.exposeBoolean('isBlocked', {
      description: 'Whether the cap is reached: nothing more is sent until the next month.',
    }),
  }),
})

const CATEGORIES = {
  workflows: 'Mail of workflows.',
  campaigns: 'Mail of campaigns.',
  transactional: 'Mail of POST /v1/send, sendEmail and SMTP; each recipient is a message.',
  inbound: 'Mail that came in.',
}

const BillingLimitsRef = builder.objectRef<PerCategory<Limit>>('BillingLimits').implement({
  description: 'The caps of a project on messages in a calendar month (UTC), by category.',
  fields: (t) => ({
    workflows: t.expose('workflows', { type: BillingLimitRef, description: CATEGORIES.workflows }),
    campaigns: t.expose('campaigns', { type: BillingLimitRef, description: CATEGORIES.campaigns }),
    transactional: t.expose('transactional', {
      type: BillingLimitRef,
      description: CATEGORIES.transactional,
    }),
    inbound: t.expose('inbound', { type: BillingLimitRef, description: CATEGORIES.inbound }),
  }),
})

const BillingUsageRef = builder.objectRef<PerCategory<number>>('BillingUsage').implement({
  description: 'Messages of a calendar month, by category.',
  fields: (t) => ({
    workflows: t.exposeInt('workflows', { description: CATEGORIES.workflows }),
    campaigns: t.exposeInt('campaigns', { description: CATEGORIES.campaigns }),
    transactional: t.exposeInt('transactional', { description: CATEGORIES.transactional }),
    inbound: t.exposeInt('inbound', { description: CATEGORIES.inbound }),
  }),
})

const BillingPeriodRef = builder.objectRef<Consumption['period']>('BillingPeriod').implement({
  description: 'A calendar month in UTC.',
  fields: (t) => ({
    start: t.expose('start', { type: 'DateTime', description: 'When it begins.' }),
    end: t.expose('end', { type: 'DateTime', description: 'When the next one begins.' }),
  }),
})

const AMOUNT = "in the currency's smallest unit, such as cents"
const CURRENCY = { description: 'Currency by its ISO 4217 code, in lower case.' }

const UpcomingInvoiceRef = builder.objectRef<UpcomingInvoice>('UpcomingInvoice').implement({
  description: 'The invoice that comes next, as it would be now.',
  fields: (t) => ({
    amountDue: t.exposeInt('amountDue', { description: `What is to be paid, ${AMOUNT}.` }),
    currency: t.exposeString('currency', CURRENCY),
    periodStart: t.expose('periodStart', { type: 'DateTime', description: 'When its period begins.' }),
    periodEnd: t.expose('periodEnd', { type: 'DateTime', description: 'When its period ends.' }),
    dueAt: t.expose('dueAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it will be collected; null when that is not planned.',
    }),
  }),
})

const BillingConsumptionRef = builder.objectRef<Consumption>('BillingConsumption').implement({
  description: 'What a project uses in this calendar month.',
  fields: (t) => ({
    period: t.expose('period', { type: BillingPeriodRef, description: 'The month.' }),
    usage: t.expose('usage', { type: BillingUsageRef, description: 'Messages, by category.' }),
    upcomingInvoice: t.expose('upcomingInvoice', {
      type: UpcomingInvoiceRef,
      nullable: true,
      description: 'The invoice that comes next; null without a subscription.',
    }),
  }),
})

const InvoiceRef = builder.objectRef<Invoice>('Invoice').implement({
  description: 'An invoice of the payment service.',
  fields: (t) => ({
    id: t.exposeString('id', { description: 'Id at the payment service.' }),
    number: t.exposeString('number', {
      nullable: true,
      description: 'Number of the invoice; null without one.',
    }),
    status: t.exposeString('status', { description: 'open, paid, uncollectible or void.' }),
    amountDue: t.exposeInt('amountDue', { description: `What was to be paid, ${AMOUNT}.` }),
    amountPaid: t.exposeInt('amountPaid', { description: `What was paid, ${AMOUNT}.` }),
    currency: t.exposeString('currency', CURRENCY),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    periodStart: t.expose('periodStart', { type: 'DateTime', description: 'When its period begins.' }),
    periodEnd: t.expose('periodEnd', { type: 'DateTime', description: 'When its period ends.' }),
    url: t.exposeString('url', {
      nullable: true,
      description: 'Page where it is shown and paid; null without one.',
    }),
    pdf: t.exposeString('pdf', { nullable: true, description: 'Address of its PDF; null without one.' }),
  }),
})

const BillingInvoicesRef = builder.objectRef<Invoices>('BillingInvoices').implement({
  description: 'The invoices of a project.',
  fields: (t) => ({
    invoices: t.expose('invoices', {
      type: [InvoiceRef],
      description: 'The hundred newest, the newest first; without drafts.',
    }),
    hasUnpaidInvoices: t.exposeBoolean('hasUnpaidInvoices', {
      description: 'Whether one of them is open or uncollectible.',
    }),
  }),
})

const PROJECT = {
  required: true,
  description: 'Id of the project, a UUID; one that is not yours is 404.',
} as const

/** Who may use the operations of billing. */
const GUARD = { access: 'user', role: 'ADMIN', projectArgument: 'id' } as const

builder.mutationField('checkout', (t) =>
  t.field({
    description:
      'Begins a subscription: the answer is the page of the payment service where it is paid. 409 when the project has one, 404 where billing is off.',
    type: BillingRedirectRef,
    ...GUARD,
    rest: post('/users/@me/projects/:id/checkout', 'Billing', {
      errors: ['CONFLICT', 'EXTERNAL_SERVICE_ERROR'],
    }),
    args: { id: t.arg.id(PROJECT) },
    resolve: (_root, _args, ctx) => checkOut(ctx),
  }),
)

builder.mutationField('openBillingPortal', (t) =>
  t.field({
    description:
      'Returns the page of the payment service where the subscription is changed or cancelled. 409 before the first checkout.',
    type: BillingRedirectRef,
    ...GUARD,
    rest: post('/users/@me/projects/:id/billing-portal', 'Billing', {
      errors: ['CONFLICT', 'EXTERNAL_SERVICE_ERROR'],
    }),
    args: { id: t.arg.id(PROJECT) },
    resolve: (_root, _args, ctx) => openPortal(ctx),
  }),
)

builder.queryField('billingLimits', (t) =>
  t.field({
    description: 'Caps of a project on messages in a month, and what is used of them.',
    type: BillingLimitsRef,
    ...GUARD,
    rest: get('/users/@me/projects/:id/billing-limits', 'Billing'),
    args: { id: t.arg.id(PROJECT) },
    resolve: (_root, _args, ctx) => readLimits(ctx),
  }),
)

builder.mutationField('setBillingLimits', (t) =>
  t.field({
    description:
      'Sets the caps of a project, all four. They hold at once where this is answered, and within five seconds everywhere.',
    type: BillingLimitsRef,
    ...GUARD,
    rest: put('/users/@me/projects/:id/billing-limits', 'Billing'),
    args: {
      id: t.arg.id(PROJECT),
      input: t.arg(inputArgument('BillingLimitsInput', billingLimitsInput)),
    },
    resolve: (_root, { input }, ctx) => setLimits(ctx, input),
  }),
)

builder.queryField('billingConsumption', (t) =>
  t.field({
    description: 'Messages of a project in this calendar month, and the invoice that comes next.',
    type: BillingConsumptionRef,
    ...GUARD,
    rest: get('/users/@me/projects/:id/billing-consumption', 'Billing', {
      errors: ['EXTERNAL_SERVICE_ERROR'],
    }),
    args: { id: t.arg.id(PROJECT) },
    resolve: (_root, _args, ctx) => readConsumption(ctx),
  }),
)

builder.queryField('billingInvoices', (t) =>
  t.field({
    description: 'Invoices of a project.',
    type: BillingInvoicesRef,
    ...GUARD,
    rest: get('/users/@me/projects/:id/billing-invoices', 'Billing', { errors: ['EXTERNAL_SERVICE_ERROR'] }),
    args: { id: t.arg.id(PROJECT) },
    resolve: (_root, _args, ctx) => readInvoices(ctx),
  }),
)
