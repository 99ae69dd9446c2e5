import * as assert from 'uvu/assert'
import { createMetrics } from '../../src/observe/metrics.ts'
import { defineProjectWork, type ProjectWork } from '../../src/queue/define-work.ts'
import { workKind } from '../../src/queue/job-queue.ts'
import { defineQueues, runProjectWork } from '../../src/queue/queue.ts'
import { scenario } from '../support/scenario.ts'
import { type Service, startService, until } from '../support/service.ts'

/** A service that runs no work by itself. */
const start = () => startService({ ROLES: 'http' })

/** Runs kinds of work in this process until the test is over. */
async function running(
  { app }: Service,
  works: ProjectWork[],
  body: (ask: (projectId: string) => void) => Promise<void>,
): Promise<void> {
  const { services } = app
  await defineQueues(
    services.boss,
    [],
    works.map(({ kind }) => kind),
  )
  const work = runProjectWork(services, { works, sweeps: [] }, createMetrics())
  try {
    await body((projectId) => {
      for (const { kind } of works) services.work.ask(kind, { projectId })
    })
  } finally {
    await work.stop()
  }
}

const nothingPending = async () => []

scenario('Project work', start, (test) => {
  test('is done in slices until nothing is left', async (service) => {
    const slices: number[] = []
    const work = defineProjectWork({
      kind: workKind('test.slices'),
      pending: nothingPending,
      slice: async () => (slices.push(slices.length) < 3 ? 'more' : 'done'),
    })
    await running(service, [work], async (ask) => {
      ask(service.project.id)
      await until('three slices', () => slices.length === 3)
    })
    assert.is(slices.length, 3)
    const left = await service.sql(`select from pgboss.job where name = 'test.slices'`)
    assert.equal(left, [], 'turns that have ended leave nothing in the queue')
  })

  test('that nobody has asked for is found by the sweep', async (service) => {
    let done = false
    const work = defineProjectWork({
      kind: workKind('test.forgotten'),
      pending: async () => (done ? [] : [service.project.id]),
      slice: async (ctx) => {
        assert.equal(ctx.actor, { kind: 'system', projectId: service.project.id })
        done = true
        return 'done'
      },
    })
    await running(service, [work], async () => {
      await until('it is done', () => done)
    })
  })

  test('of one project waits for no other that has a long slice', async (service) => {
    const other = await service.newProject()
    const { promise: isLong, resolve: end } = Promise.withResolvers<void>()
    const done: string[] = []
    const work = defineProjectWork({
      kind: workKind('test.long'),
      concurrency: 2,
      pending: nothingPending,
      slice: async (_ctx, { projectId }) => {
        if (projectId === service.project.id) await isLong
        done.push(projectId)
        return 'done'
      },
    })
    await running(service, [work], async (ask) => {
      ask(service.project.id)
      await until('it runs', async () => {
        const rows = await service.sql(`select from pgboss.job where name = 'test.long' and state = 'active'`)
        return rows.length === 1
      })
      ask(other.id)
      await until('the other one is done', () => done.includes(other.id))
      assert.equal(done, [other.id])
      end()
      await until('the long one as well', () => done.length === 2)
    })
  })

  test('that is asked for many times waits in the queue once', async (service) => {
    const kind = workKind('test.once')
    await defineQueues(service.app.services.boss, [], [kind])
    for (let index = 0; index < 50; index += 1) {
      service.app.services.work.ask(kind, { projectId: service.project.id })
      await service.sql('select 1')
    }
    const waiting = () =>
      service.sql(`select data from pgboss.job where name = 'test.once' and state = 'created'`)
    await until('it is asked for', async () => (await waiting()).length > 0)
    assert.is((await waiting()).length, 1)
    const other = await service.newProject()
    for (const projectId of [service.project.id, other.id, service.project.id]) {
      service.app.services.work.ask(kind, { projectId })
    }
    await until('another project waits as well', async () => (await waiting()).length === 2)
  })

  test('that fails ten times in a row is a dead letter with its reason, and other work goes on', async (service) => {
    let fails = 0
    let others = 0
    let isPending = false
    const failing = defineProjectWork({
      kind: workKind('test.failing'),
      pending: async () => (isPending ? [service.project.id] : []),
      slice: async () => {
        fails += 1
        throw new Error('The disk is full.')
      },
    })
    const other = defineProjectWork({
      kind: workKind('test.other'),
      pending: nothingPending,
      slice: async () => {
        others += 1
        return 'done'
      },
    })
    await running(service, [failing, other], async (ask) => {
      ask(service.project.id)
      // Each try comes later than the one before; the test does not wait for that.
      await until(
        'it is given up',
        async () => {
          await service.sql(
            `update pgboss.job set start_after = now() where name = 'test.failing' and state = 'retry'`,
          )
          const dead = await service.sql(
            `select source_output from pgboss.job where name = 'dead-letters' and source_name = 'test.failing'`,
          )
          return dead.length > 0
        },
        40_000,
      )
      assert.is(fails, 10)
      isPending = true
      const sweptAt = async () => {
        const [sweep] = await service.sql(`select swept_at from work_sweeps where kind = 'test.failing'`)
        return sweep?.swept_at.getTime() ?? 0
      }
      const before = await sweptAt()
      await until('it is swept again', async () => (await sweptAt()) > before)
      await until(
        'and once more, after what was asked for then',
        async () => (await sweptAt()) > before + 3_000,
      )
      assert.is(fails, 10, 'work that was given up is left alone')
      service.app.services.work.ask(other.kind, { projectId: service.project.id })
      await until('other work is done', () => others >= 2)
    })
    const [dead] = await service.sql(
      `select source_output ->> 'message' as reason, data ->> 'projectId' as project from pgboss.job
       where name = 'dead-letters' and source_name = 'test.failing'`,
    )
    assert.equal(dead, { reason: 'The disk is full.', project: service.project.id })
  })

  test('has a queue that gets its options from the version that runs', async ({ app }) => {
    const { boss } = app.services
    const kind = workKind('test.options')
    await defineQueues(boss, [], [kind])
    const wanted = (await boss.getQueue(kind.name))?.retryLimit
    await boss.updateQueue(kind.name, { retryLimit: 1 })
    await defineQueues(boss, [], [kind])
    assert.is((await boss.getQueue(kind.name))?.retryLimit, wanted)
    assert.is.not(wanted, 1)
  })

  test('asked for in a transaction begins after its commit', async (service) => {
    const kind = workKind('test.commit')
    await defineQueues(service.app.services.boss, [], [kind])
    const jobs = () => service.sql(`select from pgboss.job where name = 'test.commit'`)
    const ctx = service.ctx(service.project.id)
    await ctx.atomically(async (tx) => {
      tx.requestWork(kind)
      await new Promise((resolve) => setTimeout(resolve, 50))
      assert.is((await jobs()).length, 0)
    })
    await until('it is asked for', async () => (await jobs()).length === 1)
    await ctx
      .atomically(async (tx) => {
        tx.requestWork(kind)
        throw new Error('rolled back')
      })
      .catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.is((await jobs()).length, 1, 'nothing is asked for when the transaction fails')
  })
})
