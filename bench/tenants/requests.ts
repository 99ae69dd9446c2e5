import { setTimeout as pause } from 'node:timers/promises'
import { type LoadResult, load } from '../http-load.ts'
import type { ServiceProcess } from '../processes.ts'
import type { Tenant } from './world.ts'

const TIMEOUT_MS = 60_000

export type Answer = { status: number; body: Record<string, unknown> }

/** A request as a tenant, with its answer read. */
export async function ask(
  { url }: ServiceProcess,
  tenant: Tenant,
  method: string,
  path: string,
  body?: object,
): Promise<Answer> {
  const isForm = body instanceof FormData
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${tenant.secret}`,
      ...(body && !isForm && { 'content-type': 'application/json' }),
    },
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
}

/** A tenant tracks events of 500 contacts, over two connections. */
export const trackFor = ({ url }: ServiceProcess, tenant: Tenant, seconds: number): Promise<LoadResult> =>
  load(
    url,
    (index) => ({
      path: '/v1/track',
      key: tenant.public,
      body: { email: `t${index % 500}@example.org`, event: 'seen' },
    }),
    { connections: 2, seconds },
  )

/** Imports a CSV file and waits for the end of the job. Returns how long all that took, in ms. */
export async function importCsv(service: ServiceProcess, tenant: Tenant, csv: string): Promise<number> {
  const startedAt = performance.now()
  const form = new FormData()
  form.set('file', new Blob([csv]), 'contacts.csv')
  const { body } = await ask(service, tenant, 'POST', '/contacts/import', form)
  for (;;) {
    const job = await ask(service, tenant, 'GET', `/contacts/import/${body.jobId}`)
    if (job.body.state === 'completed') return performance.now() - startedAt
    if (job.body.state === 'failed') throw new Error(`the import failed: ${job.body.failedReason}`)
    await pause(10)
  }
}
