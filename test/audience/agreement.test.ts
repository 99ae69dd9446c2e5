import fc from 'fast-check'
import type pg from 'pg'
import * as assert from 'uvu/assert'
import { compileTree } from '../../src/audience/compile.sql.ts'
import { explainTree, matchTree } from '../../src/audience/match.rules.ts'
import { parseTree } from '../../src/audience/parsing/parse.ts'
import { segmentProblems } from '../../src/audience/resolve.rules.ts'
import { resolveTree } from '../../src/audience/resolve.ts'
import type { Audience, SegmentSource } from '../../src/audience/tree.rules.ts'
import { unpreparedStatement, valuesOf } from '../../src/db/sql.ts'
import { scenario } from '../support/scenario.ts'
import { seeded } from '../support/seeded.ts'
import { type Body, startService } from '../support/service.ts'
import { COMPUTED, NOW, person, STORED, treeWith } from './arbitrary.ts'
import { type Conditions, naiveTree, type Person } from './naive.ts'
import { insertPeople, oddlySetPool, subjectOf } from './people.ts'

const PEOPLE = 60
const TREES_IN_A_BATCH = 40
const BATCHES = 80

const start = async () => {
  const service = await startService({ ROLES: 'http' })
  const pool = oddlySetPool(service)
  const stop = async () => {
    await pool.end()
    await service.stop()
  }
  return { ...service, pool, stop }
}

/** A segment may ask for those before it. */
const batch = fc.record({
  segments: fc.tuple(treeWith(STORED), treeWith([...STORED, COMPUTED[0] ?? ''])),
  trees: fc.array(fc.record({ tree: treeWith([...STORED, ...COMPUTED]), asColumn: fc.boolean() }), {
    minLength: TREES_IN_A_BATCH,
    maxLength: TREES_IN_A_BATCH,
  }),
})

const sourcesOf = (conditions: Conditions): Map<string, SegmentSource> =>
  new Map([
    ...STORED.map((id): [string, SegmentSource] => [id, { members: 'stored' }]),
    ...Object.entries(conditions).map(([id, condition]): [string, SegmentSource] => [
      id,
      { members: 'computed', condition: parseTree(condition, 'condition') },
    ]),
  ])

/** The ids that the compiled trees are true for, in one statement: as a condition of it, or as a column. */
async function compiledMatches(
  pool: pg.Pool,
  projectId: string,
  trees: { audience: Audience; asColumn: boolean }[],
): Promise<string[][]> {
  const params: Record<string, unknown> = { projectId }
  const parts = trees.map(({ audience, asColumn }, index) => {
    const predicate = compileTree(audience, NOW)
    const nameOf = (name: string) => name.replace('filter', `tree${index}Filter`)
    for (const [name, value] of Object.entries(predicate.params)) params[nameOf(name)] = value
    const text = predicate.text.replaceAll(/:filter\d+/g, nameOf)
    return asColumn
      ? `select ${index} as tree, c.id, ${text} as matches from contacts c`
      : `select ${index} as tree, c.id, true as matches from contacts c where ${text}`
  })
  const query = unpreparedStatement(parts.join(' union all '))
  const { rows } = await pool.query<{ tree: number; id: string; matches: boolean | null }>(
    query.text,
    valuesOf(query, params),
  )
  assert.ok(
    rows.every(({ matches }) => matches !== null),
    'a condition is never null',
  )
  return trees.map((_, index) =>
    rows.flatMap(({ tree, id, matches }) => (tree === index && matches ? [id] : [])).toSorted(),
  )
}

function assertAgreement(tree: Body, people: Person[], found: Record<string, string[]>): void {
  const [expected = [], ...others] = Object.values(found)
  if (others.every((ids) => ids.join() === expected.join())) return
  const [first] = people.filter(
    ({ id }) => new Set(Object.values(found).map((ids) => ids.includes(id))).size > 1,
  )
  const verdicts = Object.entries(found).map(([who, ids]) => `${who}: ${ids.includes(first?.id ?? '')}`)
  throw new Error(`${verdicts.join(', ')} for ${JSON.stringify(tree)} and ${JSON.stringify(first)}`)
}

scenario('The compiler, the matcher and the explanation of filter trees', start, (test) => {
  test('agree with a naive reading of the rules', async (service) => {
    await seeded(async (random) => {
      const seeds = fc.sample(person, { numRuns: PEOPLE, seed: random.between(1, 2 ** 31) })
      const { project } = service
      const people = await insertPeople(service.sql, project.id, seeds)
      // What another project has must not show, although it is the same.
      await insertPeople(service.sql, (await service.newProject()).id, seeds)
      let compared = 0
      let telling = 0
      const run = async ({
        segments,
        trees: generated,
      }: {
        segments: Body[]
        trees: { tree: Body; asColumn: boolean }[]
      }) => {
        const conditions = Object.fromEntries(COMPUTED.map((id, index) => [id, segments[index]]))
        const sources = sourcesOf(conditions)
        // A few come to more filters than there may be.
        const trees = generated.filter(
          ({ tree }) =>
            segmentProblems(parseTree(tree, 'condition'), sources, 'condition', null).length === 0,
        )
        const audiences = trees.map(({ tree, asColumn }) => ({
          audience: resolveTree(parseTree(tree, 'condition'), sources, 'condition'),
          asColumn,
        }))
        const compiled = await compiledMatches(service.pool, project.id, audiences)
        for (const [index, { audience }] of audiences.entries()) {
          const tree = trees[index]?.tree
          const idsOf = (matches: (person: Person) => boolean) =>
            people
              .filter(matches)
              .map(({ id }) => id)
              .toSorted()
          const naive = idsOf((person) => naiveTree(tree, person, NOW, conditions))
          assertAgreement(tree, people, {
            naive,
            compiled: compiled[index] ?? [],
            matched: idsOf((person) => matchTree(audience, subjectOf(person), NOW)),
            explained: idsOf((person) => explainTree(audience, subjectOf(person), NOW).matches),
          })
          compared += 1
          if (naive.length > 0 && naive.length < PEOPLE) telling += 1
        }
      }
      await fc.assert(fc.asyncProperty(batch, run), { numRuns: BATCHES, seed: random.between(1, 2 ** 31) })
      assert.ok(compared >= 2_000)
      assert.ok(telling > compared / 3, `trees tell contacts apart; ${telling} of ${compared} did`)
    })
  })
})
