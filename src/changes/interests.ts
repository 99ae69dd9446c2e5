import { type Ctx, projectIdOf } from '../ctx.ts'
import { conflict } from '../errors.ts'
import type { Consumer, InterestKind } from '../generated/prisma/enums.ts'
import {
  lockInterests as lock,
  namesBeingDeleted,
  spreadListening,
  usersOf,
  writeInterests,
} from './interests.sql.ts'

/**
 * Something that a filter, a trigger or a wait names. With `listens` a change of it must reach the consumer.
 */
export type Interest = { kind: InterestKind; name: string; listens: boolean }

/** Everything that a condition names: see `referencesOf`. */
type Named = { fields: string[]; keys: string[]; events: string[]; segments: string[] }

/** The references of a condition as interests. */
export const interestsIn = (references: Named, listens = false): Interest[] => {
  const all = (kind: InterestKind, names: string[]) => names.map((name) => ({ kind, name, listens }))
  return [
    ...all(
      'FIELD',
      references.fields.filter((field) => !field.startsWith('data.')),
    ),
    ...all('DATA', references.keys),
    ...all('EVENT', references.events),
    ...all('SEGMENT', references.segments),
  ]
}

/**
 * Locks what refers to what until the end of the transaction: for changes of it, and for deletions of
 * something that must not be in use.
 */
export async function lockInterests(tx: Ctx): Promise<void> {
  await tx.sql(lock, { projectId: projectIdOf(tx) })
}

/**
 * Keeps what a segment, a campaign that is not over, or a workflow refers to; none when it is deleted or over. A workflow
 * listens for its executions that wait. Called when it is written, under `lockInterests`. Throws CONFLICT
 * for an event or a field that is being deleted: it would be named while what it stands for disappears.
 */
export async function keepInterests(
  tx: Ctx,
  { consumer, id }: { consumer: Consumer; id: string },
  interests: Interest[],
): Promise<void> {
  const named = (kind: InterestKind) =>
    interests.filter((interest) => interest.kind === kind).map(({ name }) => name)
  const projectId = projectIdOf(tx)
  const [deleted] = await tx.sql(namesBeingDeleted, {
    projectId,
    events: named('EVENT'),
    dataKeys: named('DATA'),
  })
  if (deleted) {
    throw conflict(`${deleted.name} is being deleted in the background. Try again when that is done.`)
  }
  await tx.sql(writeInterests, {
    projectId,
    consumer,
    consumerId: id,
    kinds: interests.map(({ kind }) => kind),
    names: interests.map(({ name }) => name),
    listening: interests.map(({ listens }) => listens),
  })
  // A tracked segment has to hear what the segments ask for that it names.
  if (consumer === 'SEGMENT') await tx.sql(spreadListening, { projectId })
}

export type Consuming = { id: string; name: string }

/** The segments, campaigns and workflows that refer to a field, an event or a segment. */
export type Usage = {
  usedInSegments: Consuming[]
  usedInCampaigns: Consuming[]
  usedInWorkflows: Consuming[]
}

export const isUsed = (usage: Usage): boolean =>
  usage.usedInSegments.length + usage.usedInCampaigns.length + usage.usedInWorkflows.length > 0

/**
 * Every segment, every workflow (enabled or not) and every campaign that is not yet sent or cancelled and
 * refers to one of the names. The answer stays true while the transaction holds `lockInterests`.
 */
export async function usageOf(ctx: Ctx, kind: InterestKind, ...names: string[]): Promise<Usage> {
  const users = await ctx.sql(usersOf, { projectId: projectIdOf(ctx), kind, names })
  const usedIn = (consumer: Consumer) =>
    users.filter((user) => user.consumer === consumer).map(({ id, name }) => ({ id, name }))
  return {
    usedInSegments: usedIn('SEGMENT'),
    usedInCampaigns: usedIn('CAMPAIGN'),
    usedInWorkflows: usedIn('WORKFLOW'),
  }
}
