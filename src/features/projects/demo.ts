import { SYSTEM } from '../../admission/access.ts'
import { actingFor, createCtx, type Services } from '../../ctx.ts'
import { type None, statement } from '../../db/sql.ts'
import { addDomain } from '../domains/domains.ts'
import { createProject, type ProjectKeys } from './projects.ts'

export type Demo = { keys: ProjectKeys; domain: string }

/** A name that RFC 2606 reserves for examples: it can belong to no one. */
const DEMO_DOMAIN = 'example.com'

/** Any number; two processes that start at once must not both create the demo project. */
const lockDemo = statement<None>('lock-demo', 'select pg_advisory_xact_lock(1836544618)::text')

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
