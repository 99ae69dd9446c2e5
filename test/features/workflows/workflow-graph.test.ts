import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import {
  type Graph,
  type GraphTransition,
  nextStepOf,
  openBranches,
  problemsOfTransition,
  reachable,
  reachableSteps,
  removalOf,
  STEP_TYPES,
  type StepType,
  wayThrough,
} from '../../../src/features/workflows/workflow-graph.rules.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'

const BRANCHES = [null, 'yes', 'no', 'event', 'timeout', 'maybe']

type Attempt = { from: number; to: number; branch: string | null }

const attempts = fc.array(
  fc.record({ from: fc.nat(9), to: fc.nat(9), branch: fc.constantFrom(...BRANCHES) }),
  { maxLength: 60 },
)
const types = fc.array(fc.constantFrom<StepType>(...STEP_TYPES), { minLength: 1, maxLength: 9 })

/** A graph that came about by transitions that were allowed, and by nothing else. */
function built(stepTypes: StepType[], links: Attempt[]): Graph {
  const steps = (['TRIGGER', ...stepTypes] as StepType[]).map((type) => ({ id: randomUUID(), type }))
  const transitions: GraphTransition[] = []
  for (const { from, to, branch } of links) {
    const [fromStepId, toStepId] = [steps[from % steps.length]?.id ?? '', steps[to % steps.length]?.id ?? '']
    const link = { fromStepId, toStepId, branch }
    if (problemsOfTransition({ steps, transitions }, link).length > 0) continue
    transitions.push({ id: randomUUID(), ...link, priority: 0 })
  }
  return { steps, transitions }
}

const graphs = fc.tuple(types, attempts).map(([stepTypes, links]) => built(stepTypes, links))

/** Whether no step can be reached from those that come after it. */
const hasNoCircle = (graph: Graph): boolean =>
  graph.transitions.every(({ fromStepId, toStepId }) => !reachable(graph, toStepId).has(fromStepId))

const typeOf = (graph: Graph, id: string) => graph.steps.find((step) => step.id === id)?.type

const runs = { numRuns: process.env.DEEP ? 1_000 : 250 }

scenario('The graph of a workflow', nothingShared, (test) => {
  test('never leads back, into the TRIGGER or out of an EXIT, and has one way for each branch', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        assert.ok(hasNoCircle(graph))
        const ways = graph.transitions.map(({ fromStepId, branch }) => `${fromStepId} ${branch}`)
        assert.is(new Set(ways).size, ways.length)
        for (const { fromStepId, toStepId, branch } of graph.transitions) {
          const type = typeOf(graph, fromStepId)
          assert.is.not(typeOf(graph, toStepId), 'TRIGGER')
          assert.is.not(type, 'EXIT')
          assert.is(branch === 'yes' || branch === 'no', type === 'CONDITION')
          assert.is.not(branch, 'maybe')
        }
      }),
      runs,
    )
  })

  test('every way through it comes to an end, at each step at most once', () => {
    fc.assert(
      fc.property(graphs, fc.array(fc.constantFrom(...BRANCHES)), (graph, branches) => {
        const seen = new Set<string>()
        let step: string | null = graph.steps[0]?.id ?? null
        for (let turn = 0; step !== null; turn += 1) {
          assert.not(seen.has(step))
          seen.add(step)
          step = nextStepOf(graph, step, branches[turn] ?? null)
        }
        for (const id of seen) assert.ok(reachableSteps(graph).has(id))
      }),
      runs,
    )
  })

  test('without a step is still one, and with splice what led to the step leads to its successor', () => {
    fc.assert(
      fc.property(graphs, fc.nat(9), fc.boolean(), (graph, place, splice) => {
        const gone = graph.steps[place % graph.steps.length]
        if (!gone || gone.type === 'TRIGGER') return
        const successors = new Set(
          graph.transitions.filter((one) => one.fromStepId === gone.id).map((one) => one.toStepId),
        )
        const removal = removalOf(graph, gone.id, splice)
        assert.is(removal === null, splice && successors.size > 1)
        if (!removal) return
        const target = new Map(removal.redirected.map((one) => [one.id, one.toStepId]))
        const left: Graph = {
          steps: graph.steps.filter(({ id }) => id !== gone.id),
          transitions: graph.transitions
            .filter(({ id }) => !removal.removed.includes(id))
            .map((one) => ({ ...one, toStepId: target.get(one.id) ?? one.toStepId })),
        }
        assert.ok(hasNoCircle(left))
        for (const { fromStepId, toStepId } of left.transitions) {
          assert.is.not(fromStepId, gone.id)
          assert.is.not(toStepId, gone.id)
        }
        if (splice && successors.size === 1) {
          assert.equal(
            new Set(reachableSteps(graph)).size - (reachableSteps(graph).has(gone.id) ? 1 : 0),
            reachableSteps(left).size,
          )
        }
      }),
      runs,
    )
  })

  test('says which branches are open, and which way leads through a step', () => {
    const [trigger, condition, wait, exit] = (
      ['TRIGGER', 'CONDITION', 'WAIT_FOR_EVENT', 'EXIT'] as const
    ).map((type) => ({ id: randomUUID(), type }))
    if (!trigger || !condition || !wait || !exit) throw new Error('there are four')
    const steps = [trigger, condition, wait, exit]
    const way = (from: { id: string }, to: { id: string }, branch: string | null): GraphTransition => ({
      ...{ id: randomUUID(), fromStepId: from.id, toStepId: to.id, branch, priority: 0 },
    })
    const graph = { steps, transitions: [way(condition, wait, 'yes'), way(wait, exit, 'event')] }
    assert.equal(openBranches(graph, condition), ['no'])
    assert.equal(openBranches(graph, wait), ['timeout'])
    const plain = { steps, transitions: [way(wait, exit, null)] }
    assert.equal(openBranches(plain, wait), [])
    assert.is(nextStepOf(plain, wait.id, 'timeout'), exit.id)
    assert.equal(wayThrough('CONDITION'), { branch: 'yes' })
    assert.equal(wayThrough('WAIT_FOR_EVENT'), { branch: null })
    assert.is(wayThrough('EXIT'), null)
  })
})
