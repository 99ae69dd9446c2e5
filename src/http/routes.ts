import { nearPath } from './near-paths.ts'

export type Match<Route> =
  | { kind: 'found'; route: Route; params: Record<string, string> }
  | { kind: 'method'; allowed: string[] }
  | { kind: 'none' }

type Entry<Route> = { pattern: string[]; byMethod: Map<string, Route> }

/**
 * Finds routes by path; `:name` in a pattern takes one segment. Fixed segments win over parameters, whatever the method, those
 * at the end over others: of `/events/contact/:id` and `/events/:name/usage` the second one takes `/events/contact/usage`.
 */
export class RouteTable<Route extends { method: string; path: string }> {
  readonly #fixed = new Map<string, Entry<Route>>()
  readonly #withParameters: Entry<Route>[] = []

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#entryFor(route.path).byMethod.set(route.method, route)
    this.#withParameters.sort((a, b) => Number(endsWithParameter(a)) - Number(endsWithParameter(b)))
  }

  #entryFor(path: string): Entry<Route> {
    const pattern = path.split('/')
    const known = path.includes(':')
      ? this.#withParameters.find((entry) => entry.pattern.join('/') === path)
      : this.#fixed.get(path)
    if (known) return known
    const entry: Entry<Route> = { pattern, byMethod: new Map() }
    if (path.includes(':')) this.#withParameters.push(entry)
    else this.#fixed.set(path, entry)
    return entry
  }

  find(method: string, path: string): Match<Route> {
    const candidates = this.#candidates(path)
    for (const entry of candidates) {
      const route = entry.byMethod.get(method)
      if (!route) continue
      const params = parametersOf(entry.pattern, path)
      return params ? { kind: 'found', route, params } : { kind: 'none' }
    }
    if (candidates.length === 0) return { kind: 'none' }
    return { kind: 'method', allowed: candidates.flatMap((entry) => [...entry.byMethod.keys()]) }
  }

  /** The path that was likely meant instead of an unknown one, and its methods. */
  near(path: string): { path: string; methods: string[] } | null {
    const found = nearPath(path, (one) => this.#candidates(one).length > 0, this.#fixed.keys())
    if (found === null) return null
    return { path: found, methods: this.#candidates(found).flatMap(({ byMethod }) => [...byMethod.keys()]) }
  }

  #candidates(path: string): Entry<Route>[] {
    return [this.#fixed.get(path), ...this.#matching(path)].filter((entry) => entry !== undefined)
  }

  #matching(path: string): Entry<Route>[] {
    if (this.#fixed.has(path)) return []
    const segments = path.split('/')
    const found = this.#withParameters.filter(
      ({ pattern }) =>
        pattern.length === segments.length &&
        pattern.every((part, index) =>
          part.startsWith(':') ? segments[index] !== '' : part === segments[index],
        ),
    )
    return found.filter(({ pattern }) => !found.some((other) => isMoreExact(other.pattern, pattern)))
  }
}

/** Whether a pattern has fixed segments in the place of parameters of another one, and is the same otherwise. */
const isMoreExact = (some: string[], other: string[]): boolean =>
  some.every((part, index) => part === other[index] || other[index]?.startsWith(':')) &&
  some.some((part, index) => !part.startsWith(':') && other[index]?.startsWith(':'))

const endsWithParameter = ({ pattern }: { pattern: string[] }): boolean =>
  pattern.at(-1)?.startsWith(':') ?? false

/** Null when a segment is not valid percent-encoding, or NUL: no resource can have such a name. */
function parametersOf(pattern: string[], path: string): Record<string, string> | null {
  const segments = path.split('/')
  const params: Record<string, string> = {}
  try {
    for (const [index, part] of pattern.entries()) {
      if (part.startsWith(':')) params[part.slice(1)] = decodeURIComponent(segments[index] ?? '')
    }
  } catch {
    return null
  }
  return Object.values(params).some((value) => value.includes('\0')) ? null : params
}
