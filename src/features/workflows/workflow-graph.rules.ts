/*
 * The one place that knows what a graph of steps may look like and where it leads. It is a tree of decisions that begins
 * at the TRIGGER step and never comes back to a step, so that an execution passes each step at most once.
 */

/** The types that callers may add; the service creates the TRIGGER step. */
export const STEP_TYPES = [
  'SEND_EMAIL',
  'DELAY',
  'WAIT_FOR_EVENT',
  'CONDITION',
  'WEBHOOK',
  'UPDATE_CONTACT',
  'EXIT',
] as const

export type StepType = (typeof STEP_TYPES)[number] | 'TRIGGER'

export type GraphStep = { id: string; type: StepType }

export type GraphTransition = {
  id: string
  fromStepId: string
  toStepId: string
  /** null: the way on that is not of a branch. */
  branch: string | null
  priority: number
}

export type Graph = { steps: readonly GraphStep[]; transitions: readonly GraphTransition[] }

/** The ways on that a step of a type may have; null is the plain one. */
const WAYS: Record<StepType, readonly (string | null)[]> = {
  TRIGGER: [null],
  SEND_EMAIL: [null],
  DELAY: [null],
  WAIT_FOR_EVENT: ['event', 'timeout', null],
  CONDITION: ['yes', 'no'],
  WEBHOOK: [null],
  UPDATE_CONTACT: [null],
  EXIT: [],
}

/** Steps of one workflow, and with that transitions: a request can read all of them. */
export const MAX_STEPS = 100

/** A problem at a field of the input. */
export type GraphProblem = { field: string; message: string; code: string }

const problem = (field: string, message: string, code = 'custom'): GraphProblem => ({ field, message, code })

export const stepOf = ({ steps }: Graph, id: string): GraphStep | undefined =>
  steps.find((step) => step.id === id)

const outgoing = ({ transitions }: Graph, id: string): GraphTransition[] =>
  transitions.filter(({ fromStepId }) => fromStepId === id)

/** Everything that speaks against a transition between two steps of the graph. */
export function problemsOfTransition(
  graph: Graph,
  { fromStepId, toStepId, branch }: Pick<GraphTransition, 'fromStepId' | 'toStepId' | 'branch'>,
): GraphProblem[] {
  const [from, to] = [stepOf(graph, fromStepId), stepOf(graph, toStepId)]
  if (!from || !to) {
    const unknown = (field: string) => problem(field, 'is the id of no step of this workflow')
    return [...(from ? [] : [unknown('fromStepId')]), ...(to ? [] : [unknown('toStepId')])]
  }
  if (from.id === to.id) return [problem('toStepId', 'must be another step than fromStepId')]
  if (to.type === 'TRIGGER') return [problem('toStepId', 'must not be the TRIGGER step, where it begins')]
  const ways = WAYS[from.type]
  if (ways.length === 0)
    return [problem('fromStepId', `must not be a step of the type ${from.type}, which ends`)]
  if (!ways.includes(branch)) return [wrongBranch(from, ways, branch)]
  if (outgoing(graph, from.id).some((one) => one.branch === branch)) {
    return [
      problem(
        branch === null ? 'fromStepId' : 'branch',
        `has a transition already${branch === null ? '' : ` for ${branch}`}`,
      ),
    ]
  }
  return reaches(graph, to.id, from.id) ? [problem('toStepId', 'must not lead back to fromStepId')] : []
}

function wrongBranch(
  { type }: GraphStep,
  ways: readonly (string | null)[],
  branch: string | null,
): GraphProblem {
  const named = ways.filter((way) => way !== null)
  if (named.length === 0)
    return problem('branch', `must not be given: a step of the type ${type} has no branches`)
  const message = `must be ${named.join(' or ')} for a step of the type ${type}`
  return branch === null
    ? problem('branch', message, 'required')
    : problem('branch', message, 'invalid_enum_value')
}

/** Whether a step can be reached from another one, or is that one. */
function reaches(graph: Graph, from: string, to: string): boolean {
  return reachable(graph, from).has(to)
}

/** The steps that can be reached from one, with itself. */
export function reachable(graph: Graph, from: string): Set<string> {
  const ways = new Map<string, string[]>()
  for (const { fromStepId, toStepId } of graph.transitions) {
    ways.set(fromStepId, [...(ways.get(fromStepId) ?? []), toStepId])
  }
  const found = new Set([from])
  for (const id of found) for (const next of ways.get(id) ?? []) found.add(next)
  return found
}

/** The step after one, for the branch that it has come to (null: it has none); null at the end. */
export function nextStepOf(graph: Graph, stepId: string, branch: string | null): string | null {
  const ways = outgoing(graph, stepId).toSorted((a, b) => a.priority - b.priority)
  const found = ways.find((way) => way.branch === branch) ?? ways.find((way) => way.branch === null)
  return found?.toStepId ?? null
}

/** The branches of a step that lead nowhere: an execution that takes one is COMPLETED. */
export function openBranches(graph: Graph, { id, type }: GraphStep): string[] {
  const ways = outgoing(graph, id).map(({ branch }) => branch)
  if (ways.includes(null)) return []
  return WAYS[type].filter((way) => way !== null && !ways.includes(way)).map(String)
}

/** What taking a step out changes: transitions that go, and those that lead elsewhere. */
export type Removal = { removed: string[]; redirected: { id: string; toStepId: string }[] }

/**
 * Takes a step out of the graph. With `splice` the transitions that lead to it lead to its only successor; null when it
 * has several.
 */
export function removalOf(graph: Graph, stepId: string, splice: boolean): Removal | null {
  const incoming = graph.transitions.filter(({ toStepId }) => toStepId === stepId)
  const leaving = outgoing(graph, stepId)
  const [successor, ...others] = new Set(leaving.map(({ toStepId }) => toStepId))
  if (splice && others.length > 0) return null
  const all = [...incoming, ...leaving].map(({ id }) => id)
  if (!splice || successor === undefined) return { removed: all, redirected: [] }
  return {
    removed: leaving.map(({ id }) => id),
    redirected: incoming.map(({ id }) => ({ id, toStepId: successor })),
  }
}

/** The branch by which a step that is put into a transition leads on: the first of its branches. */
export const wayThrough = (type: StepType): { branch: string | null } | null => {
  const ways = WAYS[type]
  if (ways.length === 0) return null
  return { branch: ways.includes(null) ? null : (ways[0] ?? null) }
}

/** The ids of the steps that executions can come to. */
export function reachableSteps(graph: Graph): Set<string> {
  const trigger = graph.steps.find(({ type }) => type === 'TRIGGER')
  return trigger ? reachable(graph, trigger.id) : new Set()
}
