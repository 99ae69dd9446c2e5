import { readSingle, readTree } from '../../src/audience/parsing/parse.rules.ts'
import { referencesOf } from '../../src/audience/references.rules.ts'
import { type Interest, interestsIn, keepInterests } from '../../src/changes/interests.ts'
import type { Consumer } from '../../src/generated/prisma/enums.ts'
import { isJsonObject } from '../../src/lib/json.ts'
import type { Service } from './service.ts'

const none = { fields: [], keys: [], events: [], segments: [] }
const texts = (...values: unknown[]) => values.filter((value) => typeof value === 'string')

function inCondition(condition: unknown, context = false): Interest[] {
  if (!isJsonObject(condition)) return []
  const tree =
    'groups' in condition ? readTree(condition, '', { context }) : readSingle(condition, '', { context })
  return Array.isArray(tree) ? [] : interestsIn(referencesOf(tree))
}

function inStep(type: string, config: unknown): Interest[] {
  if (!isJsonObject(config)) return []
  if (type === 'CONDITION') return inCondition(config.condition ?? config, true)
  if (type === 'UPDATE_CONTACT') return interestsIn({ ...none, keys: Object.keys(config.updates ?? {}) })
  if (type !== 'TRIGGER' && type !== 'WAIT_FOR_EVENT') return []
  return interestsIn({ ...none, events: texts(config.eventName), segments: texts(config.segmentId) })
}

/** Keeps the interests of a project's segments, campaigns and workflows that a test has written past the service. */
export async function noteInterests({ ctx, sql }: Service, projectId: string): Promise<void> {
  const { db } = ctx(projectId)
  const where = { projectId }
  const found: [Consumer, string, Interest[]][] = []
  for (const { id, condition } of await db.segment.findMany({ where })) {
    found.push(['SEGMENT', id, inCondition(condition)])
  }
  const open = { projectId, status: { notIn: ['SENT', 'CANCELLED'] as ('SENT' | 'CANCELLED')[] } }
  for (const { id, segmentId, audienceCondition } of await db.campaign.findMany({ where: open })) {
    const segments = interestsIn({ ...none, segments: texts(segmentId) })
    found.push(['CAMPAIGN', id, [...segments, ...inCondition(audienceCondition)]])
  }
  for (const workflow of await db.workflow.findMany({ where, include: { steps: true } })) {
    const steps = workflow.steps.flatMap(({ type, config }) => inStep(type, config))
    found.push(['WORKFLOW', workflow.id, [...inStep('TRIGGER', workflow.triggerConfig), ...steps]])
  }
  await sql('delete from interests where project_id = $1', [projectId])
  for (const [consumer, id, interests] of found)
    await keepInterests(ctx(projectId), { consumer, id }, interests)
}
