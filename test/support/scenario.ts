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
      context = await start()
    } catch (error) {
      startError = error
    }
  })
  tests.after(async () => {
    await context?.stop?.()
  })

  let defined = 0
  define((testName, body) => {
    defined += 1
    tests(testName, async () => {
      if (context === undefined) throw startError ?? new Error(`${name}: start returned nothing`)
      await body(context)
    })
  })
  if (defined === 0) {
    tests('has tests', () => {
      throw new Error(`${name} defines no test`)
    })
  }
  tests.run()
}

/** For scenarios that share nothing. */
export const nothingShared = (): Stoppable => ({})
