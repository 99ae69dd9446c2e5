import { escapeLike } from '../lib/like.ts'
import { type Bind, columnInside, dataCondition } from './data-test.sql.ts'
import { spanAt, startOf, timestampText } from './dates.rules.ts'
import { type Audience, type Filter, type FilterTree, segmentOf, type Test } from './tree.rules.ts'

/** A condition with its parameters: `values[0]` is the one numbered `firstParameter`. */
export type Predicate = { text: string; values: (string | boolean)[] }

export type CompileOptions = {
  projectId: string
  now: Date
  /** The number of the first parameter, 1 unless the statement has others before it. */
  firstParameter?: number
}

type Compiler = { audience: Audience; project: string; now: Date; bind: Bind }

/**
 * Turns an audience into a condition on rows of `contacts c`: those of the project that the tree is true for.
 * It is true or false, never null, and cannot fail, whatever contacts hold. Nothing of the tree is in its text.
 *
 * Indexes: data equality is containment (GIN on data), parts of addresses are LIKE (contacts_email_part), event
 * filters lean on the keys of `events` that start with (project_id, contact_id) and (project_id, name,
 * created_at, contact_id), stored segments on the key of `segment_members`.
 */
export function compileTree(audience: Audience, options: CompileOptions): Predicate {
  const { projectId, now, firstParameter = 1 } = options
  const values: (string | boolean)[] = []
  const bind: Bind = (value, type) => {
    values.push(value)
    return `$${firstParameter + values.length - 1}::${type}`
  }
  const project = bind(projectId, 'uuid')
  const condition = treeCondition({ audience, project, now, bind }, audience.tree)
  return { text: `(c.project_id = ${project} and ${condition})`, values }
}

function treeCondition(compiler: Compiler, tree: FilterTree): string {
  const groups = tree.groups.map(({ filters, conditions }) => {
    const parts = filters.map((filter) => filterCondition(compiler, filter))
    if (conditions) parts.push(treeCondition(compiler, conditions))
    return `(${parts.join(' and ')})`
  })
  return `(${groups.join(tree.logic === 'AND' ? ' and ' : ' or ')})`
}

function filterCondition(compiler: Compiler, { test, negated }: Filter): string {
  const condition = testCondition(compiler, test)
  return negated ? `not ${condition}` : condition
}

function testCondition(compiler: Compiler, test: Test): string {
  const { bind, now } = compiler
  switch (test.on) {
    case 'email':
      return test.is === 'equal'
        ? `(c.email = ${bind(test.text, 'text')})`
        : `(c.email like ${bind(`%${escapeLike(test.text)}%`, 'text')})`
    case 'subscribed':
      return `(c.subscribed = ${bind(test.value, 'boolean')})`
    case 'createdAt':
      return columnInside(bind, 'c.created_at', spanAt(test.is, now))
    case 'updatedAt':
      return columnInside(bind, 'c.updated_at', spanAt(test.is, now))
    case 'data':
      return `(${dataCondition(bind, test.path, test.is, now)})`
    case 'context':
      throw new Error('A condition on the context of a workflow cannot be asked of the database')
    case 'event':
      return eventCondition(compiler, test)
    case 'segment':
      return segmentCondition(compiler, test.id)
  }
}

function eventCondition({ bind, project, now }: Compiler, test: Test & { on: 'event' }): string {
  const name = bind(test.name, 'text')
  const start =
    test.last.is === 'any' ? '' : bind(timestampText(startOf(test.last.window, now)), 'timestamptz')
  const since = start && ` and e.created_at >= ${start}`
  const exists = (more: string) =>
    `exists (select from events e where e.project_id = ${project} and e.contact_id = c.id and e.name = ${name}${
      more + (test.byPersons ? BY_PERSONS : '')
    })`
  if (test.last.is === 'olderThan') return `(${exists('')} and not ${exists(since)})`
  return `(${exists(since)})`
}

const BY_PERSONS = ` and not e.data @> '{"bot": true}'`

/** Stored members are looked up; a segment without them is its condition. */
function segmentCondition(compiler: Compiler, id: string): string {
  const source = segmentOf(compiler.audience, id)
  if (source.members === 'computed') return treeCondition(compiler, source.condition)
  return `(exists (select from segment_members m where m.project_id = ${compiler.project}
    and m.segment_id = ${compiler.bind(id, 'uuid')} and m.contact_id = c.id))`
}
