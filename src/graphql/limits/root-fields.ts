import { type DocumentNode, getOperationAST, Kind, type SelectionSetNode } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { Ctx } from '../../ctx.ts'

/** The parts of a request that Yoga's plugins know. */
export type GraphQLRequest = Ctx & {
  /** Counts the request as this many more against the limit of the caller; throws RATE_LIMIT_EXCEEDED. */
  charge: (cost: number) => Promise<void>
}

export type GraphQLPlugin = Plugin<GraphQLRequest, GraphQLRequest>

type Operation = { document: DocumentNode; operationName?: string | null | undefined }

/** The names of the root fields that an operation runs. One that is asked for twice under one alias runs once. */
export function rootFieldsOf({ document, operationName }: Operation): string[] {
  const fragments = new Map(
    document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition]] : [],
    ),
  )
  const fields = new Map<string, string>()
  const collect = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) {
        fields.set((selection.alias ?? selection.name).value, selection.name.value)
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        collect(selection.selectionSet)
      } else {
        const fragment = fragments.get(selection.name.value)
        fragments.delete(selection.name.value)
        if (fragment) collect(fragment.selectionSet)
      }
    }
  }
  const operation = getOperationAST(document, operationName)
  if (operation) collect(operation.selectionSet)
  return [...fields.values()]
}

/** Each root field is an operation, so it counts as the request that it would be over REST. */
export function chargeRootFields(): GraphQLPlugin {
  const charge = async ({ args }: { args: Operation & { contextValue: GraphQLRequest } }) => {
    const operations = rootFieldsOf(args).filter((name) => name !== '__typename').length
    // The request itself was counted before it was read.
    if (operations > 1) await args.contextValue.charge(operations - 1)
  }
  return { onExecute: charge, onSubscribe: charge }
}
