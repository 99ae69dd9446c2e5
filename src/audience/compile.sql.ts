import { isKept } from '../db/kept-contacts.sql.ts'
import { escapeLike } from '../lib/like.ts'
import { type Bind, columnInside, dataCondition } from './data-test.sql.ts'
import { spanAt, startOf, timestampText } from './dates.rules.ts'
import { type Audience, type Filter, type FilterTree, segmentOf, type Test } from './tree.rules.ts'

/** The parameters of a condition, beside `projectId`. */
export type PredicateParams = { [name: `filter${number}`]: string | boolean }

/** A condition, for a statement that has the parameter `:projectId`, with its other parameters. */
export type Predicate = { text: string; params: PredicateParams }

/**
 * Events and lists up to which Postgres may join all of them with the contacts. The time and memory of planning grow
 * with the third power of joins: 100 take half a second and 170 MB.
 */
const MAX_JOINS = 10
/** Above MAX_JOINS this many are still joined, so that the plan can start at a rare event. */
const STARTING_POINTS = 4

/** State of required events and lists: `asked` for so far, and how many more may be joined. */
type Joins = { asked: number; left: number; negated: boolean }

type Compiler = {
  audience: Audience
  now: Date
  bind: Bind
  joins: Joins
  /** Whether the whole can only be true when this part is: Postgres turns such parts into joins. */
  isRequired: boolean
}

/**
 * Turns an audience into a condition on rows of `contacts c`: those of the project that the tree is true for.
 * It is true or false, never null, and cannot fail, whatever contacts hold. Contacts that are being erased
 * are none. Nothing of the tree is in its text.
 *
 * Indexes: data equality is containment (GIN on data), parts of addresses are LIKE (contacts_email_part), event
 * filters lean on the keys of `events` that start with (project_id, contact_id) and (project_id, name,
 * created_at, contact_id), stored segments on the key of `segment_members`.
 */
export function compileTree(audience: Audience, now: Date): Predicate {
  const all: Joins = { asked: 0, left: Number.POSITIVE_INFINITY, negated: true }
  const predicate = compileWith(all, audience, now)
  if (all.asked <= MAX_JOINS) return predicate
  return compileWith({ asked: 0, left: STARTING_POINTS, negated: false }, audience, now)
}

function compileWith(joins: Joins, audience: Audience, now: Date): Predicate {
  const params: PredicateParams = {}
  let count = 0
  const bind: Bind = (value, type) => {
    count += 1
    params[`filter${count}`] = value
    return `:filter${count}::${type}`
  }
  const compiler = { audience, now, bind, joins, isRequired: true }
  const condition = treeCondition(compiler, audience.tree)
  return { text: `(c.project_id = :projectId::uuid and ${isKept('c')} and ${condition})`, params }
}

function treeCondition(outer: Compiler, tree: FilterTree): string {
  const isRequired = outer.isRequired && (tree.logic === 'AND' || tree.groups.length === 1)
  const compiler = { ...outer, isRequired }
  const groups = tree.groups.map(({ filters, conditions }) => {
    const parts = filters.map((filter) => filterCondition(compiler, filter))
    if (conditions) parts.push(treeCondition(compiler, conditions))
    return `(${parts.join(' and ')})`
  })
  return `(${groups.join(tree.logic === 'AND' ? ' and ' : ' or ')})`
}

function filterCondition(compiler: Compiler, { test, negated }: Filter): string {
  const { bind, now } = compiler
  const not = negated ? 'not ' : ''
  switch (test.on) {
    case 'email':
      return test.is === 'equal'
        ? `${not}(c.email = ${bind(test.text, 'text')})`
        : `${not}(c.email like ${bind(`%${escapeLike(test.text)}%`, 'text')})`
    case 'subscribed':
      return `${not}(c.subscribed = ${bind(test.value, 'boolean')})`
    case 'createdAt':
      return not + columnInside(bind, 'c.created_at', spanAt(test.is, now))
    case 'updatedAt':
      return not + columnInside(bind, 'c.updated_at', spanAt(test.is, now))
    case 'data':
      return `${not}(${dataCondition(bind, test.path, test.is, now)})`
    case 'context':
      throw new Error('A condition on the context of a workflow cannot be asked of the database')
    case 'event':
      return eventCondition(compiler, test, negated)
    case 'segment':
      return segmentCondition(compiler, test.id, negated)
  }
}

/**
 * Postgres turns a required "exists" into a join wherever it can, but not one that is compared as a number.
 * It takes that for true of nearly all contacts, so it reads the events of the name once for all of them,
 * instead of looking up those of each contact.
 */
function existence({ isRequired, joins }: Compiler, rows: string, negated: boolean): string {
  const exists = `exists (${rows})`
  const plain = negated ? `(not ${exists})` : `(${exists})`
  if (!isRequired) return plain
  joins.asked += 1
  if (negated ? joins.negated : joins.left > 0) {
    joins.left -= negated ? 0 : 1
    return plain
  }
  return `((${exists})::int <> ${negated ? 1 : 0})`
}

function eventCondition(compiler: Compiler, test: Test & { on: 'event' }, negated: boolean): string {
  const { bind, now } = compiler
  const name = bind(test.name, 'text')
  const start =
    test.last.is === 'any' ? '' : bind(timestampText(startOf(test.last.window, now)), 'timestamptz')
  const since = start && ` and e.created_at >= ${start}`
  const events = (more: string) =>
    `select from events e where e.project_id = :projectId::uuid and e.contact_id = c.id and e.name = ${name}${
      more + (test.byPersons ? BY_PERSONS : '')
    }`
  if (test.last.is !== 'olderThan') return existence(compiler, events(since), negated)
  const last = `(${existence(compiler, events(''), false)} and ${existence(compiler, events(since), true)})`
  return negated ? `not ${last}` : last
}

const BY_PERSONS = ` and not e.data @> '{"bot": true}'`

/** Stored members are looked up; a segment without them is its condition. */
function segmentCondition(compiler: Compiler, id: string, negated: boolean): string {
  const source = segmentOf(compiler.audience, id)
  if (source.members === 'computed') {
    const condition = treeCondition(compiler, source.condition)
    return negated ? `not ${condition}` : condition
  }
  const members = `select from segment_members m where m.project_id = :projectId::uuid
    and m.segment_id = ${compiler.bind(id, 'uuid')} and m.contact_id = c.id`
  return existence(compiler, members, negated)
}
