import {
  coerceInputValue,
  type GraphQLInputType,
  type GraphQLNamedType,
  getNamedType,
  isEnumType,
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
    if (text !== null) values[name] = fromParameter(name, type, text)
    else if (defaultValue !== undefined) values[name] = defaultValue
    else if (isNonNullType(type)) throw badRequest(`The parameter ${name} is required.`)
  }
  return values
}

const fromParameter = (name: string, type: GraphQLInputType, text: string): unknown =>
  coerceInputValue(fromText(name, getNamedType(type), text), type, (_path, _value, error) => {
    throw badRequest(`The parameter ${name} is not valid: ${error.message}`)
  })

/** GraphQL's Int has 32 bits. */
const MAX_INT = 2 ** 31 - 1

function fromText(name: string, type: GraphQLNamedType, text: string): string | number | boolean {
  if (isEnumType(type)) {
    const names = type.getValues().map((value) => value.name)
    if (!names.includes(text)) throw badRequest(`The parameter ${name} must be one of ${names.join(', ')}.`)
    return text
  }
  if (type.name === 'Boolean') {
    if (text !== 'true' && text !== 'false') throw badRequest(`The parameter ${name} must be true or false.`)
    return text === 'true'
  }
  if (type.name !== 'Int') return text
  const number = Number(text)
  if (!/^-?\d+$/.test(text) || Math.abs(number) > MAX_INT) {
    throw badRequest(`The parameter ${name} must be an integer.`)
  }
  return number
}
