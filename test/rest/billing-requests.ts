import { newCampaign, newContacts } from '../features/campaigns/campaign-support.ts'
import { sendBody } from '../support/mailing.ts'
import { type Service, withProject } from '../support/service.ts'
import { KNOWN_CUSTOMER } from '../support/stripe-api.ts'
import type { Case } from './openapi-requests.ts'

const NO_CAPS = { workflows: null, campaigns: null, transactional: null, inbound: null }

const ofProject = ({ project }: Service): Case => ({ params: { id: project.id } })

/** The project as Stripe knows it, with a subscription in this state. */
async function withAccount(service: Service, status: string | null): Promise<Case> {
  await service.sql(
    `insert into billing_accounts (project_id, customer_id, subscription_id, status, updated_at)
     values ($1, $2, 'sub_1', $3, now()) on conflict (project_id) do update set status = excluded.status`,
    [service.project.id, KNOWN_CUSTOMER, status],
  )
  return ofProject(service)
}

/** A project of its own that may send nothing more this month, and its key. */
async function capped(service: Service) {
  const project = await service.newProject()
  await service.sql(
    `insert into billing_limits (project_id, category, "limit") select $1, unnest(enum_range(null::billing_category)), 1`,
    [project.id],
  )
  await service.sql(
    `insert into billing_usage (project_id, month, category, used)
     select $1, date_trunc('month', now() at time zone 'UTC'), unnest(enum_range(null::billing_category)), 1`,
    [project.id],
  )
  return { own: withProject(service, project), headers: { authorization: `Bearer ${project.secret}` } }
}

export const SUCCEEDING_BILLING: Record<string, (service: Service) => Promise<Case> | Case> = {
  checkout: (service) => withAccount(service, null),
  openBillingPortal: (service) => withAccount(service, 'active'),
  billingLimits: ofProject,
  setBillingLimits: (service) => ({ ...ofProject(service), body: NO_CAPS }),
  billingConsumption: (service) => withAccount(service, 'active'),
  billingInvoices: (service) => withAccount(service, 'active'),
}

export const FAILING_BILLING: Record<string, (service: Service) => Promise<Case> | Case> = {
  'checkout 409 CONFLICT': (service) => withAccount(service, 'active'),
  'openBillingPortal 409 CONFLICT': async (service) => {
    await service.sql('delete from billing_accounts where project_id = $1', [service.project.id])
    return ofProject(service)
  },
  'sendEmail 402 BILLING_LIMIT_EXCEEDED': async (service) => {
    const { own, headers } = await capped(service)
    return { headers, body: sendBody(own.project, { to: 'ada@example.org' }) }
  },
  'sendCampaign 402 BILLING_LIMIT_EXCEEDED': async (service) => {
    const { own, headers } = await capped(service)
    await newContacts(own, 1, {}, own.project)
    return { headers, params: { id: (await newCampaign(own)).id }, body: {} }
  },
}
