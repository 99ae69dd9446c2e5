import DataLoader from 'dataloader'
import type { Ctx } from '../ctx.ts'

/**
 * Resolves one field of many objects: all that one GraphQL request asks for is read together. `read` answers
 * in the order of the ids.
 */
export function batched<Value>(read: (ctx: Ctx, ids: string[]) => Promise<Value[]>) {
  const loaders = new WeakMap<Ctx, DataLoader<string, Value>>()
  return (ctx: Ctx, id: string): Promise<Value> => {
    const loader = loaders.get(ctx) ?? new DataLoader<string, Value>((ids) => read(ctx, [...ids]))
    loaders.set(ctx, loader)
    return loader.load(id)
  }
}
