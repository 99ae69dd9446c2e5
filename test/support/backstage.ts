import { systemOf } from '../../src/admission/access.ts'
import { startServices } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { type Ctx, createCtx } from '../../src/ctx.ts'
import { forceVerified } from '../../src/features/domains/domains.ts'
import { createProject } from '../../src/features/projects/projects.ts'
import { newId } from '../../src/lib/ids.ts'
import { createLog } from '../../src/observe/log.ts'
import type { Project } from './service.ts'

/** Limits of one project; 0 is none, absent is what the processes are started with. */
export type ProjectLimits = { requestsPerMinute?: number; sendsPerSecond?: number }

/** The service's own functions on the database of service processes, for what is not done over HTTP. */
export type Backstage = {
  ctx: (projectId: string) => Ctx
  /** A project with a verified sender domain and its DKIM key. */
  newProject: (limits?: ProjectLimits) => Promise<Project>
  stop: () => Promise<void>
}

/** `env` is what the service processes get: the same database, the same secrets. */
export async function openBackstage(env: Record<string, string>): Promise<Backstage> {
  const config = loadConfig({ NODE_ENV: 'test', ...env, ROLES: 'http' })
  const { services, stop } = await startServices(config, createLog('silent'))
  const ctx = (projectId: string) => createCtx(services, systemOf(projectId), 'backstage')
  return {
    ctx,
    newProject: async ({ requestsPerMinute, sendsPerSecond }: ProjectLimits = {}) => {
      const { id, public: publicKey, secret } = await createProject(ctx(''), { name: 'Durable' })
      const { domain } = await forceVerified(ctx(id), `d${newId(new Date()).slice(-12)}.example`)
      await services.database.prisma.project.update({
        where: { id },
        data: { rateLimitPerMinute: requestsPerMinute ?? null, sendRatePerSecond: sendsPerSecond ?? null },
      })
      return { id, public: publicKey, secret, domain }
    },
    stop,
  }
}

/** One project in the database of these variables, and nothing left open. */
export async function provision(env: Record<string, string>, limits?: ProjectLimits): Promise<Project> {
  const backstage = await openBackstage(env)
  try {
    return await backstage.newProject(limits)
  } finally {
    await backstage.stop()
  }
}
