import { type GraphQLNamedType, getNamedType, isEnumType, isNonNullType } from 'graphql'
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

/** Query-string parameters are the arguments of the field; the ones it does not have are ignored. */
export function queryArguments(
  operation: RestOperation,
  query: URLSearchParams,
  params: Record<string, string>,
): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const arg of operation.field.args) {
    const text = query.get(arg.name)
    if (text === null || arg.name in params || !isRestArgument(operation, arg.name)) continue
    values[arg.name] = fromText(arg.name, getNamedType(arg.type), text)
  }
  return values
}

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

/** Throws BAD_REQUEST for an argument that is missing. */
export function assertArguments(operation: RestOperation, values: Record<string, unknown>): void {
  for (const arg of operation.field.args) {
    if (isNonNullType(arg.type) && values[arg.name] === undefined) {
      throw badRequest(`The parameter ${arg.name} is required.`)
    }
  }
}
