import * as assert from 'uvu/assert'
import { compileTree, type Predicate } from '../../src/audience/compile.sql.ts'
import { explainTree, matchTree } from '../../src/audience/match.rules.ts'
import { parseTree } from '../../src/audience/parsing/parse.ts'
import { resolveTree } from '../../src/audience/resolve.ts'
import type { FilterTree, SegmentSource } from '../../src/audience/tree.rules.ts'
import { unpreparedStatement, valuesOf } from '../../src/db/sql.ts'
import { AppError, type FieldError } from '../../src/errors.ts'
import { type Body, type Service, startService } from '../support/service.ts'
import { NOW, type PersonSeed } from './arbitrary.ts'
import type { Person } from './naive.ts'
import { insertPeople, subjectOf } from './people.ts'

export type World = Service & { people: Person[] }

/** A service whose project has exactly these contacts, by the local part of their addresses. */
export async function worldOf(seeds: Record<string, Partial<PersonSeed>>): Promise<World> {
  const service = await startService({ ROLES: 'http' })
  const people = Object.entries(seeds).map(([email, seed]) => ({
    ...NOBODY,
    ...seed,
    email: `${email}@example.org`,
  }))
  return { ...service, people: await insertPeople(service.sql, service.project.id, people) }
}

const NOBODY: PersonSeed = {
  email: '',
  subscribed: true,
  createdAt: NOW,
  updatedAt: NOW,
  dataText: '{}',
  events: [],
  memberOf: [],
}

export const treeOf = (...filters: object[]) => ({ logic: 'AND', groups: [{ filters }] })

/** Whom a tree is true for, in the order of the names; all ways to find out have to say the same. */
export async function whoMatches(
  world: World,
  json: unknown,
  segments: Record<string, SegmentSource> = {},
): Promise<string[]> {
  const audience = resolveTree(parseTree(json, 'condition'), new Map(Object.entries(segments)), 'condition')
  const ids = await idsOf(world, compileTree(audience, NOW))
  const compiled = world.people.filter(({ id }) => ids.includes(id))
  const matched = world.people.filter((person) => matchTree(audience, subjectOf(person), NOW))
  const explained = world.people.filter((person) => explainTree(audience, subjectOf(person), NOW).matches)
  assert.equal(namesOf(matched), namesOf(compiled), 'match')
  assert.equal(namesOf(explained), namesOf(compiled), 'explain')
  return namesOf(compiled)
}

const namesOf = (people: Person[]) => people.map(({ email }) => email.replace('@example.org', '')).toSorted()

export async function idsOf(
  world: Service,
  { text, params }: Predicate,
  projectId = world.project.id,
): Promise<string[]> {
  const query = unpreparedStatement(`select c.id from contacts c where ${text}`)
  return (await world.sql(query.text, valuesOf(query, { ...params, projectId }))).map(({ id }) => id)
}

/** The condition of a tree that names no segments. */
export const predicateOf = (json: unknown): Predicate =>
  compileTree(resolveTree(parseTree(json, 'condition'), new Map(), 'condition'), NOW)

/** What is refused, and why; nothing when it is accepted. */
export function errorsOf(refused: () => unknown): FieldError[] {
  try {
    refused()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    assert.is(error.code, 'VALIDATION_ERROR')
    return error.extras.errors ?? []
  }
  return []
}

/** Path and code of each problem. */
export const problemsOf = (refused: () => unknown): [field: string, code: string][] =>
  errorsOf(refused).map(({ field, code }) => [field, code])

export const computed = (json: Body): SegmentSource => ({
  members: 'computed',
  condition: parseTree(json, 'condition'),
})

export const parsed = (json: unknown): FilterTree => parseTree(json, 'condition')
