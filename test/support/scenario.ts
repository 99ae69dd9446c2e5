import { suite } from 'uvu'
import { keptServices } from './kept-services.ts'

type Stoppable = { stop?: () => Promise<void> | void }
type Body<C> = (context: C) => Promise<void> | void
export type Test<C> = (name: string, body: Body<C>) => void

type Start<C> = (() => Promise<C> | C) & { announce?: () => void }

/**
 * The one way to write tests here. It runs the suite itself (a uvu suite that is never run counts nothing and
 * exits 0) and turns a failing start into failing tests (a uvu `before` hook that throws exits 0 as well).
 * `start` makes what the tests share; its `stop` is called at the end.
 */
export function scenario<C extends Stoppable>(
  name: string,
  start: Start<C>,
  define: (test: Test<C>) => void,
): void {
  const tests = suite(name)
  start.announce?.()
  keptServices.scenarioAnnounced()
  let context: C | undefined
  let startError: unknown

  tests.before(async () => {
    try {
      context = await timed(`${name}: start`, start)
    } catch (error) {
      startError = error
    }
  })
  tests.after(async () => {
    try {
      await timed(`${name}: stop`, () => context?.stop?.())
    } finally {
      await keptServices.scenarioEnded()
    }
  })

  let defined = 0
  define((testName, body) => {
    defined += 1
    tests(testName, async () => {
      if (context === undefined) throw startError ?? new Error(`${name}: start returned nothing`)
      const shared = context
      await timed(`${name}: ${testName}`, () => body(shared))
    })
  })
  if (defined === 0) {
    tests('has tests', () => {
      throw new Error(`${name} defines no test`)
    })
  }
  tests.run()
}

/** Tells how long something took, for `npm test -- --slowest`. */
async function timed<Result>(what: string, work: () => Promise<Result> | Result): Promise<Result> {
  const startedAt = performance.now()
  try {
    return await work()
  } finally {
    const seconds = (performance.now() - startedAt) / 1000
    if (process.env.TELL_TIMES) console.log(`\ntook ${seconds.toFixed(1)} s: ${what}`)
  }
}

/**
 * One start for several scenarios of a file, which must not disturb each other: the first one makes what they share, the
 * last one stops it.
 */
export function sharedStart<C extends Stoppable>(start: () => Promise<C> | C): Start<C> {
  let scenarios = 0
  let context: Promise<C> | undefined
  const enter = async (): Promise<C> => {
    context ??= Promise.resolve(start())
    const shared = await context
    const stop = async () => {
      scenarios -= 1
      if (scenarios === 0) await shared.stop?.()
    }
    return { ...shared, stop }
  }
  const announce = () => {
    scenarios += 1
  }
  return Object.assign(enter, { announce })
}

/** For scenarios that share nothing. */
export const nothingShared = (): Stoppable => ({})
