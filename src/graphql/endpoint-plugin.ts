import SchemaBuilder, {
  BasePlugin,
  type FieldNullability,
  type InputFieldMap,
  type PothosOutputFieldConfig,
  type SchemaTypes,
  type TypeParam,
} from '@pothos/core'
import type { GraphQLFieldResolver } from 'graphql'
import type { Access } from '../admission/access.ts'
import { type Ctx, projectIdOf } from '../ctx.ts'
import type { KeyScope, Role } from '../generated/prisma/enums.ts'
import { toAppError } from '../observe/unexpected.ts'
import { inputSchemaOf } from './inputs/input-schema.ts'
import { nameOf, type RestRoute } from './rest-route.ts'
import { callOf, type Endpoint, gated, runEndpoint } from './run-endpoint.ts'

type EndpointOptions = {
  /** The callers that may use this operation. Required: leaving it out does not compile. */
  access: Access
  /** The role that a signed-in user needs in the project at least; MEMBER by default. */
  role?: Role
  /**
   * The argument that is the id of the operation's project, for the caller of which the operation then runs: a project
   * that is not the caller's is 404. Without it a signed-in user names the project by X-Project-Id.
   */
  projectArgument?: string
  /** The scope that lets a further key use it, besides FULL; READ by default for what only reads, else none. */
  scope?: KeyScope
  /** An account whose address is not verified may use it, though it changes something. */
  unverified?: boolean
  /** Where it answers over REST; without it the operation is GraphQL only. */
  rest?: RestRoute
  /** The operation takes an Idempotency-Key; in GraphQL it is the arguments idempotencyKey and idempotencyReplay. */
  idempotent?: boolean
}

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      endpoint: EndpointPlugin<Types>
    }
    // The type parameters must be those of Pothos, used here or not.
    interface QueryFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > extends EndpointOptions {}
    interface MutationFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > extends EndpointOptions {}
    interface SubscriptionFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveShape,
      ResolveReturnShape,
    > extends Pick<EndpointOptions, 'access' | 'role' | 'projectArgument'> {}
  }
}

const EXTENSION = 'endpoint'

const isEndpoint = (value: unknown): value is Endpoint =>
  typeof value === 'object' && value !== null && 'access' in value && 'writes' in value

/** The endpoint of a root field, from the field's extensions; null for any other field. */
export function endpointOf(
  extensions: Readonly<Record<string, unknown>> | null | undefined,
): Endpoint | null {
  const endpoint = extensions?.[EXTENSION]
  return isEndpoint(endpoint) ? endpoint : null
}

export class EndpointPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    if (config.kind !== 'Query' && config.kind !== 'Mutation' && config.kind !== 'Subscription') return config
    const { access, role, projectArgument, scope, unverified, rest, idempotent } =
      config.pothosOptions as EndpointOptions
    const endpoint: Endpoint = {
      name: rest ? nameOf(rest) : `${config.kind.toLowerCase()} ${config.name}`,
      access,
      role: role ?? 'MEMBER',
      projectArgument: projectArgument ?? null,
      scope: scope ?? (config.kind === 'Mutation' ? 'FULL' : 'READ'),
      unverified: unverified ?? false,
      writes: config.kind === 'Mutation',
      rest: rest ?? null,
      idempotent: idempotent ?? false,
      inputSchema: inputSchemaOf(config.args.input),
    }
    return { ...config, extensions: { ...config.extensions, [EXTENSION]: endpoint } }
  }

  override wrapResolve(
    resolver: GraphQLFieldResolver<unknown, Types['Context'], object>,
    config: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    const endpoint = endpointOf(config.extensions)
    // A subscription is checked once, not at every value.
    if (!endpoint || config.kind === 'Subscription') return resolver
    const behindGate = gated(endpoint, resolver)
    // The builder's Context is Ctx; a plugin sees only the general type.
    return (root, args, context, info) => behindGate(root, args, context as Ctx, info)
  }

  override wrapSubscribe(
    subscriber: GraphQLFieldResolver<unknown, Types['Context'], object> | undefined,
    config: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> | undefined {
    const endpoint = endpointOf(config.extensions)
    if (!endpoint || !subscriber) return subscriber
    return async (root, args, context, info) => {
      const ctx = context as Ctx
      const { data } = await runEndpoint(endpoint, callOf(args), ctx, async (checked, bound) => {
        const leave = ctx.services.watchers.enter(projectIdOf(bound))
        try {
          const source = await subscriber(root, checked, bound, info)
          return isAsyncIterable(source) ? watched(source, ctx, leave) : source
        } catch (error) {
          leave()
          throw error
        }
      })
      return data
    }
  }
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value

/**
 * The stream of a watcher, who leaves with its end. GraphQL gives the error of a stream no path, by which others are known
 * to be ours and masked. The end of a stream is passed on at once, which a generator around it would not do while it waits
 * for a value.
 */
function watched(
  source: AsyncIterable<unknown>,
  ctx: Ctx,
  leave: () => void,
): AsyncIterableIterator<unknown> {
  const iterator = source[Symbol.asyncIterator]()
  return {
    next: async () => {
      try {
        const result = await iterator.next()
        if (result.done) leave()
        return result
      } catch (error) {
        leave()
        throw toAppError(error, ctx.log, ctx.requestId)
      }
    },
    return: async () => {
      leave()
      return (await iterator.return?.()) ?? { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Registers the plugin with Pothos, under the name by which the builder asks for it. */
export function endpointPlugin(): 'endpoint' {
  SchemaBuilder.registerPlugin('endpoint', EndpointPlugin)
  return 'endpoint'
}
