import { randomUUID } from 'node:crypto'
import { checkDomainsJob } from '../../../src/features/domains/check-domains.job.ts'
import { type DnsServer, type Names, startDnsServer } from '../../support/dns-server.ts'
import { type Body, type Service, startService } from '../../support/service.ts'
import { workThrough } from '../../support/work.ts'

export type Checked = Service & { dns: DnsServer }

/** A service that asks a DNS server of its own, and runs no background work by itself. */
export async function startChecked(
  env: Record<string, string>,
  stopAlso?: () => Promise<void>,
): Promise<Checked> {
  const dns = await startDnsServer()
  const service = await startService({ ROLES: 'http', DNS_SERVERS: dns.address, ...env })
  const stop = async () => {
    await service.stop()
    await dns.stop()
    await stopAlso?.()
  }
  return { ...service, dns, stop }
}

export const newName = () => `n${randomUUID().slice(0, 8)}.example`

export async function add(service: Service, domain = newName()): Promise<Body> {
  const answer = await service.as().post('/domains', { domain })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.body
}

export async function verify(service: Service, id: string): Promise<Body> {
  const answer = await service.as().get(`/domains/${id}/verify`)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body
}

export const workThroughChecks = (service: Service) => workThrough(service, checkDomainsJob)

/** The names with the records as they are to be published. */
export function published(records: Body[]): Names {
  const names: Names = {}
  for (const { type, name, value, priority } of records) {
    const text = type === 'MX' ? `${priority} ${value}` : value
    const known = names[name] ?? {}
    const others = known[type as 'TXT']
    names[name] = { ...known, [type]: [...(Array.isArray(others) ? others : []), text] }
  }
  return names
}

export const recordOf = (domain: Body, purpose: string): Body =>
  domain.records.find((record: Body) => record.purpose === purpose)

export const statesOf = (domain: Body) =>
  Object.fromEntries(domain.records.map((record: Body) => [record.purpose, record.status]))
