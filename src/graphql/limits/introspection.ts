import { createHash } from 'node:crypto'
import {
  type FragmentDefinitionNode,
  GraphQLError,
  getNamedType,
  getOperationAST,
  isIntrospectionType,
  isLeafType,
  Kind,
  print,
  type SelectionNode,
  type ValidationRule,
} from 'graphql'
import { missingAuth } from '../../errors.ts'
import { ByteCache } from '../../lib/byte-cache.ts'
import { type GraphQLPlugin, rootFieldsOf } from './root-fields.ts'

/** All answers that are remembered; that to GraphiQL's question takes about 200 KB. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/** Lists of a type that lead to other types: one in the other would be the schema, times the schema. */
const LEADING_ON = new Set(['fields', 'inputFields', 'interfaces', 'possibleTypes'])

/**
 * Introspection costs strangers little and answers much. It may return each part of the schema once: one
 * __schema, no lists of types within lists of types, and aliases only for short parts. No tool asks for more.
 */
export const introspectionRule: ValidationRule = (context) => {
  let schemas = 0
  const listsOfFragments = new Map<string, number>()
  /** How many of the lists that lead on are in one another. */
  const nestedLists = (node: SelectionNode | FragmentDefinitionNode): number => {
    if (node.kind === Kind.FRAGMENT_SPREAD) return nestedListsOf(node.name.value)
    const isList = node.kind === Kind.FIELD && LEADING_ON.has(node.name.value)
    const below = (node.selectionSet?.selections ?? []).map(nestedLists)
    return (isList ? 1 : 0) + Math.max(0, ...below)
  }
  const nestedListsOf = (name: string): number => {
    const known = listsOfFragments.get(name)
    if (known !== undefined) return known
    // One that spreads itself is refused by another rule.
    listsOfFragments.set(name, 0)
    const fragment = context.getFragment(name)
    const lists = fragment ? nestedLists(fragment) : 0
    listsOfFragments.set(name, lists)
    return lists
  }
  const refuse = (message: string, node: SelectionNode) =>
    context.reportError(new GraphQLError(`Introspection ${message}.`, { nodes: [node] }))
  return {
    Field(node) {
      const name = node.name.value
      if (name === '__schema') schemas += 1
      if (name === '__schema' && schemas === 2) refuse('may ask for __schema once', node)
      if ((name === '__schema' || name === '__type') && nestedLists(node) > 1) {
        refuse('may not go from the fields of a type to the fields of another', node)
      }
      const parent = context.getParentType()
      if (!node.alias || !parent || !isIntrospectionType(parent)) return
      const type = getNamedType(context.getType())
      const isShort = type && isLeafType(type) && name !== 'description'
      if (!isShort) refuse(`may not give ${name} another name`, node)
    },
  }
}

/**
 * Answers a query about the schema alone once, and later with the same text. `openToStrangers`: callers
 * without a key may ask, too.
 */
export function introspection(openToStrangers: boolean): GraphQLPlugin {
  const answers = new ByteCache<string>(MAX_ANSWER_BYTES)
  return {
    onValidate({ addValidationRule }) {
      addValidationRule(introspectionRule)
    },
    onExecute({ args, setResultAndStopExecution }) {
      const fields = rootFieldsOf(args)
      if (!fields.includes('__schema') && !fields.includes('__type')) return undefined
      if (!openToStrangers && args.contextValue.actor.kind === 'anonymous') throw missingAuth()
      if (!fields.every((name) => name.startsWith('__'))) return undefined
      const question = questionOf(args)
      const known = answers.get(question)
      if (known !== undefined) {
        const answer = { data: {}, stringify: () => known }
        return void setResultAndStopExecution(answer)
      }
      return {
        onExecuteDone({ result }) {
          if (!('data' in result) || result.errors) return
          const answer = JSON.stringify(result)
          answers.set(question, answer, answer.length)
        },
      }
    },
  }
}

type Question = Parameters<typeof rootFieldsOf>[0] & { variableValues?: Record<string, unknown> | null }

/** The same for all who ask the same, however it is written. Variables that the operation does not have do not count. */
function questionOf({ document, operationName, variableValues }: Question): string {
  const operation = getOperationAST(document, operationName)
  const names = operation?.variableDefinitions?.map(({ variable }) => variable.name.value) ?? []
  const values = names.map((name) => [name, variableValues?.[name]])
  const question = JSON.stringify([print(document), operationName, Object.fromEntries(values)])
  return createHash('sha256').update(question).digest('base64url')
}
