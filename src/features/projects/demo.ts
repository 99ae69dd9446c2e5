import { SYSTEM } from '../../admission/access.ts'
import { actingFor, createCtx, type Services } from '../../ctx.ts'
import { addDomain } from '../domains/domains.ts'
import { lockDemo } from './projects.sql.ts'
import { createProject, type ProjectKeys } from './projects.ts'

export type Demo = { keys: ProjectKeys; domain: string }

/** A name that RFC 2606 reserves for examples: it can belong to no one. */
const DEMO_DOMAIN = 'example.com'

/**
 * Creates a first project in an empty database, so that a newcomer can send at once; returns null when a
 * project exists.
 */
export async function createDemo(services: Services): Promise<Demo | null> {
  return createCtx(services, SYSTEM, 'demo').atomically(async (ctx) => {
    await ctx.sql(lockDemo, {})
    if ((await ctx.db.project.count()) > 0) return null
    const { id, public: publicKey, secret } = await createProject(ctx, { name: 'Demo' })
    await addDomain(actingFor(ctx, id), { domain: DEMO_DOMAIN })
    return { keys: { public: publicKey, secret }, domain: DEMO_DOMAIN }
  })
}
