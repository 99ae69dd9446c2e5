import {
  coerceInputValue,
  type GraphQLInputType,
  type GraphQLNamedType,
  getNamedType,
  getNullableType,
  isEnumType,
  isListType,
  isNonNullType,
} from 'graphql'
import { badRequest } from '../errors.ts'
import type { RestOperation } from './operations.ts'

/** Over REST these are headers. */
export const isHeaderArgument = (name: string) => name === 'idempotencyKey' || name === 'idempotencyReplay'

const isRestArgument = ({ route }: RestOperation, name: string): boolean =>
  !isHeaderArgument(name) && !route.graphqlOnly.includes(name)

/** The parameters that a query string may have. */
export const parameterNames = (operation: RestOperation, params: Record<string, string>): string[] =>
  operation.field.args
    .map(({ name }) => name)
    .filter((name) => name !== 'input' && !(name in params) && isRestArgument(operation, name))

/**
 * The arguments of a field, without its input, from path and query string as GraphQL would give them. Parameters that the
 * field does not have are ignored. Throws BAD_REQUEST for one that is missing or of another type.
 */
export function argumentsOf(
  operation: RestOperation,
  query: URLSearchParams,
  params: Record<string, string>,
): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const { name, type, defaultValue } of operation.field.args) {
    if (name === 'input') continue
    const text = params[name] ?? (isRestArgument(operation, name) ? query.get(name) : null)
    if (text !== null && isListType(getNullableType(type))) values[name] = listIn(query, name)
    else if (text !== null) values[name] = fromParameter(name, type, text)
    else if (defaultValue !== undefined) values[name] = defaultValue
    else if (isNonNullType(type)) throw badRequest(`The parameter ${name} is required.`)
  }
  return values
}

/** The texts of a parameter that may be repeated, and may hold several with commas between them. */
const listIn = (query: URLSearchParams, name: string): string[] =>
  query
    .getAll(name)
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '')

function fromParameter(name: string, type: GraphQLInputType, text: string): unknown {
  const named = getNamedType(type)
  // GraphQL accepts a number or a boolean as such, not as text.
  const isNumber = named.name === 'Int' && /^-?\d+$/.test(text)
  const isBoolean = named.name === 'Boolean' && /^(true|false)$/.test(text)
  return coerceInputValue(isNumber ? Number(text) : isBoolean ? text === 'true' : text, type, () => {
    throw badRequest(`The parameter ${name} must be ${expected(named)}.`)
  })
}

function expected(type: GraphQLNamedType): string {
  if (isEnumType(type)) {
    const names = type.getValues().map((value) => value.name)
    return `one of ${names.join(', ')}`
  }
  if (type.name === 'Int') return 'an integer'
  return type.name === 'Boolean' ? 'true or false' : `a valid ${type.name}`
}
