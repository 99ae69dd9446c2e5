import { z } from 'zod'
import { checkInput } from '../../admission/check-input.ts'
import { MAX_EVENT_NAME } from '../../changes/event-names.rules.ts'
import type { Interest } from '../../changes/interests.ts'
import type { Ctx } from '../../ctx.ts'
import type { TriggerType } from '../../generated/prisma/enums.ts'
import { nextTime, parseCron } from '../../lib/cron.ts'
import { id, optional, timeZone } from '../../lib/fields.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { getSegment } from '../segments/find-segment.ts'

/** The settings of each trigger, all of which may be missing until the workflow is enabled. */
const SCHEMAS = {
  EVENT: z.object({ eventName: optional(z.string().min(1).max(MAX_EVENT_NAME)) }),
  MANUAL: z.object({}),
  SCHEDULE: z.object({
    cron: optional(
      z
        .string()
        .max(100)
        .refine((text) => nextRun({ cron: text }, new Date(0)) !== null, {
          error: 'must be five fields, such as 0 9 * * mon-fri (minute, hour, day, month, day of the week)',
          params: { code: 'invalid_string' },
        }),
    ),
    timezone: optional(timeZone),
    segmentId: optional(id),
  }),
} as const

const ROOT = 'triggerConfig'

/** Returns the settings as they are kept. Throws VALIDATION_ERROR, and SEGMENT_NOT_FOUND. */
export async function checkTrigger(ctx: Ctx, type: TriggerType, config: unknown): Promise<JsonObject> {
  const checked: Record<string, unknown> = checkInput<Record<string, unknown>>(SCHEMAS[type], config, ROOT)
  const { segmentId } = checked
  if (typeof segmentId === 'string') await getSegment(ctx, segmentId.toLowerCase())
  const kept: unknown = JSON.parse(JSON.stringify(checked))
  return isJsonObject(kept) ? kept : {}
}

/** The first time after an instant at which a schedule starts executions; null when it has none. */
export function nextRun(config: unknown, after: Date): Date | null {
  const cron = parseCron(textIn(config, 'cron') ?? '')
  return cron && nextTime(cron, after, textIn(config, 'timezone') ?? 'UTC')
}

type Trigger = { triggerType: TriggerType; triggerConfig: unknown; enabled: boolean }

/** The name of the event that starts a workflow; null when another thing does, or none was given. */
export const eventOf = ({ triggerType, triggerConfig }: Omit<Trigger, 'enabled'>): string | null =>
  triggerType === 'EVENT' ? textIn(triggerConfig, 'eventName') : null

export const textIn = (config: unknown, key: string): string | null => {
  const value = isJsonObject(config) ? config[key] : undefined
  return typeof value === 'string' ? value : null
}

/** What a trigger names; only enabled workflows listen. */
export function interestsOfTrigger(trigger: Trigger): Interest[] {
  const [event, segment] = [eventOf(trigger), textIn(trigger.triggerConfig, 'segmentId')]
  return [
    ...(event === null ? [] : [{ kind: 'EVENT' as const, name: event, listens: trigger.enabled }]),
    ...(segment === null ? [] : [{ kind: 'SEGMENT' as const, name: segment.toLowerCase(), listens: false }]),
  ]
}
