import { suite } from 'uvu'

type Stoppable = { stop?: () => Promise<void> | void }
type Body<C> = (context: C) => Promise<void> | void
export type Test<C> = (name: string, body: Body<C>) => void

/**
 * The one way to write tests here. It runs the suite itself (a uvu suite that is never run counts nothing and
 * exits 0) and turns a failing start into failing tests (a uvu `before` hook that throws exits 0 as well).
 * `start` makes what the tests share; its `stop` is called at the end.
 */
export function scenario<C extends Stoppable>(
  name: string,
  start: () => Promise<C> | C,
  define: (test: Test<C>) => void,
): void {
  const tests = suite(name)
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
    await timed(`${name}: stop`, () => context?.stop?.())
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

/** For scenarios that share nothing. */
export const nothingShared = (): Stoppable => ({})
