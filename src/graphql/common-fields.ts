import { builder } from './builder.ts'

/** Descriptions of fields and arguments that many types and operations share. */

/** The id of a record of its own type. */
export const idOf = (noun: string) => ({
  description: `Identifies the ${noun}: a UUID v7 in lower case; ids sort by time of creation.`,
})

/** A reference to a record of another type. */
export const idOfOther = (noun: string, isNull?: string) => ({
  description: `Id of ${noun}, a UUID${isNull === undefined ? '' : `; null ${isNull}`}.`,
})

/** An argument that names a record of the project by its id. */
export const requiredId = (noun: string) =>
  ({
    required: true,
    description: `Id of the ${noun}, a UUID; one that the project does not have is 404.`,
  }) as const

export const PROJECT_ID = { description: 'Id of the project that the record belongs to, a UUID.' }

export const CREATED_AT = {
  type: 'DateTime',
  description: 'Time of creation, in UTC with milliseconds.',
} as const

export const UPDATED_AT = {
  type: 'DateTime',
  description: 'Time of the last change, in UTC with milliseconds; at first the time of creation.',
} as const

/** A time that is null until something has happened. */
export const timeWhen = (event: string) =>
  ({
    type: 'DateTime',
    nullable: true,
    description: `Time when ${event}, in UTC with milliseconds; null until then.`,
  }) as const

/** The fields of a message that is written once and sent many times: a template, or a campaign. */
export const MESSAGE_FIELDS = {
  name: { description: 'Internal name, never sent; it need not be unique.' },
  description: { nullable: true, description: 'Internal note, never sent; null without one.' },
  subject: { description: 'Subject with {{variable}} placeholders, which are filled for each recipient.' },
  body: { description: 'HTML with {{variable}} placeholders, which are filled for each recipient.' },
  from: { description: 'Address of the sender, in lower case.' },
  fromName: { nullable: true, description: 'Display name of the sender; null without one.' },
  replyTo: { nullable: true, description: 'Address for replies; null when they go to the sender.' },
} as const

/** The arguments of an operation that takes an Idempotency-Key; over REST they are headers. */
export const idempotencyArguments = builder.args((t) => ({
  idempotencyKey: t.string({
    description:
      'Name of this request, 1 to 255 printable ASCII characters that cannot be guessed, such as a UUID. A second request of the project with the same key is refused with IDEMPOTENCY_KEY_REUSED; keys are kept for 24 hours by default.',
  }),
  idempotencyReplay: t.boolean({
    description:
      'Whether a repeat with the same key and the same input returns the first result again instead of an error; false by default.',
  }),
}))
