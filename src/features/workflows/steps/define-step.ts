import type { z } from 'zod'
import { checkInput } from '../../../admission/check-input.ts'
import type { Subject } from '../../../audience/match.rules.ts'
import type { Audience, FilterTree } from '../../../audience/tree.rules.ts'
import type { Interest } from '../../../changes/interests.ts'
import type { Ctx } from '../../../ctx.ts'
import { fieldError } from '../../../errors.ts'
import type { Template } from '../../../generated/prisma/client.ts'
import type { Tracking } from '../../../generated/prisma/enums.ts'
import type { JsonObject } from '../../../lib/json.ts'
import type { Composed } from '../../emails/compose.ts'
import type { EndedCall, WorkflowCall } from '../../webhooks/workflow-calls.ts'
import type { StepText } from './webhook.rules.ts'

/** An execution that has come to a step. */
export type At = {
  executionId: string
  contactId: string
  subject: Subject
  context: JsonObject
  /** Whether it has waited here, and the time is over. */
  waited: boolean
  /** Id of the event that it has waited for here. */
  wokenBy: string | null
  /** The end of the call that it has made here and waited for. */
  ended: EndedCall | null
  /** What the step's condition asks for; null without one. */
  audience: Audience | null
  /** The template of the step, with a sender that may send; null without one. */
  template: Template | null
  /** Of the project. */
  settings: { language: string; footerText: string | null; tracking: Tracking }
  now: Date
  /** The contact with an address, who is made one when nobody has it. */
  receiverAt: (email: string) => Promise<Receiver>
}

/** Who gets a message. */
export type Receiver = { contactId: string; email: string; subscribed: boolean }

/** A message that is stored with the end of the step. */
export type WorkflowMail = {
  emailId: string
  executionId: string
  contactId: string
  to: string
  template: Template
  composed: Composed
}

/** A change of the contact. It is the same for all executions that are at the step. */
export type ContactUpdate = { set: JsonObject; unset: string[]; subscribed: boolean | null }

/** What a step has come to. It fails by throwing. */
export type Outcome =
  | {
      kind: 'done'
      /** null for steps without branches. */
      branch: string | null
      skipped?: boolean
      output?: JsonObject
      mail?: WorkflowMail
      update?: ContactUpdate
    }
  /** It goes on at the time, at the event, or at the end of the call. */
  | { kind: 'wait'; until: Date | null; event: string | null; call?: WorkflowCall; output?: JsonObject }
  | { kind: 'exit'; reason: string | null }

export type PreparedStep = {
  tree: FilterTree | null
  run: (at: At, tx: Ctx) => Outcome | Promise<Outcome>
}

/** What the service knows of a type of steps. */
export type StepDefinition = {
  /** Name of a step that was given none. */
  title: string
  sendsTemplate: boolean
  /** Returns the settings as they are kept. Throws VALIDATION_ERROR, with paths below `config`. */
  check: (config: unknown) => JsonObject
  /** What the settings name, which must not be deleted. */
  interests: (config: JsonObject) => Interest[]
  /** The templates in the settings. */
  templates: (config: JsonObject) => StepText[]
  prepare: (config: JsonObject) => PreparedStep
}

type Parts<Config> = {
  title: string
  sendsTemplate?: boolean
  schema: z.ZodType<Config>
  interests?: (config: Config) => Interest[]
  templates?: (config: Config) => StepText[]
  tree?: (config: Config) => FilterTree
  run: (config: Config, at: At, tx: Ctx) => Outcome | Promise<Outcome>
}

/** What the settings of one step may take as JSON, in bytes. */
const MAX_CONFIG_BYTES = 16_384
const ROOT = 'config'

/** Makes one definition of the shape of a step's settings and of what it does with them. */
export function defineStep<Config>({
  title,
  sendsTemplate = false,
  schema,
  interests,
  templates,
  tree,
  run,
}: Parts<Config>): StepDefinition {
  const read = (config: unknown): Config => checkInput(schema, config, ROOT)
  return {
    title,
    sendsTemplate,
    check: (config) => {
      const checked = read(config)
      tree?.(checked)
      const text = JSON.stringify(checked)
      if (Buffer.byteLength(text) > MAX_CONFIG_BYTES) {
        throw fieldError(ROOT, 'too_big', `must not take more than ${MAX_CONFIG_BYTES} bytes`)
      }
      return JSON.parse(text)
    },
    interests: (config) => interests?.(read(config)) ?? [],
    templates: (config) => templates?.(read(config)) ?? [],
    prepare: (config) => {
      const checked = read(config)
      return { tree: tree?.(checked) ?? null, run: (at, tx) => run(checked, at, tx) }
    },
  }
}
