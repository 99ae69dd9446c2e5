import addressparser from 'nodemailer/lib/addressparser/index.js'
import { z } from 'zod'
import { HAS_CONTROL } from '../../lib/fields.ts'
import { isJsonObject } from '../../lib/json.ts'
import { isEmailAddress, normalizeEmail, withAsciiDomain } from '../../messages/email-address.rules.ts'

/** An address as callers give it: `a@b.co`, `Ada <a@b.co>` or `{ name, email }`. */
export type NamedAddress = { email: string; name?: string | undefined }

export const MAX_RECIPIENTS = 1_000
const MAX_NAME = 255
/** Longest "Name <address>": a name with every character escaped, and an address. */
const MAX_TEXT = 2 * MAX_NAME + 260

const ONE_ADDRESS =
  'must be one email address; several recipients are a list: ["a@example.org", "b@example.org"]'

type Problem = { path: (string | number)[]; code: string; message: string }

const problem = (path: Problem['path'], code: string, message: string): Problem => ({ path, code, message })

/** Reads one address; `path` is where it stands in the input. */
function readAddress(value: unknown, path: Problem['path']): NamedAddress | Problem {
  if (typeof value === 'string') {
    const parsed = fromText(value)
    return parsed ? withValidEmail(parsed, path, path) : problem(path, 'invalid_string', ONE_ADDRESS)
  }
  if (!isJsonObject(value)) return problem(path, 'invalid_type', 'must be an address or { name, email }')
  const { email, name } = value
  if (email === undefined) return problem([...path, 'email'], 'required', 'is required')
  if (typeof email !== 'string') return problem([...path, 'email'], 'invalid_type', 'must be a string')
  if (name !== undefined && name !== null && typeof name !== 'string') {
    return problem([...path, 'name'], 'invalid_type', 'must be a string')
  }
  return withValidEmail({ email, name: name ?? undefined }, [...path, 'email'], [...path, 'name'])
}

function fromText(text: string): NamedAddress | null {
  if (!text.includes('<')) return { email: text }
  if (text.length > MAX_TEXT) return null
  const [first, ...others] = addressparser(text)
  if (!first || !('address' in first) || others.length > 0) return null
  // The parser accepts almost anything; it would silently drop what follows the address.
  const last = /<([^<>]*)>\s*$/.exec(text)?.[1]?.trim()
  if (last === undefined || last !== first.address) return null
  return { email: last, name: first.name || undefined }
}

function withValidEmail(
  { email, name }: NamedAddress,
  emailPath: Problem['path'],
  namePath: Problem['path'],
): NamedAddress | Problem {
  const normalized = normalizeEmail(email)
  if (!isEmailAddress(normalized)) {
    const isList = /[,;]/.test(normalized)
    return problem(emailPath, 'invalid_string', isList ? ONE_ADDRESS : 'must be an email address')
  }
  if (name !== undefined && HAS_CONTROL.test(name)) {
    return problem(namePath, 'invalid_string', 'must not contain line breaks or control characters')
  }
  if (name !== undefined && name.length > MAX_NAME) {
    return problem(namePath, 'too_big', `must have at most ${MAX_NAME} characters`)
  }
  return { email: normalized, ...(name?.trim() && { name: name.trim() }) }
}

const isProblem = (result: NamedAddress | Problem): result is Problem => 'code' in result
const isAddress = (result: NamedAddress | Problem): result is NamedAddress => !isProblem(result)

function report(ctx: z.core.$RefinementCtx<unknown>, { path, code, message }: Problem): void {
  ctx.addIssue({ code: 'custom', path, message, input: undefined, params: { code } })
}

/** The same address twice is one recipient; the first form of it wins. */
function withoutRepeats(addresses: NamedAddress[]): NamedAddress[] {
  const byEmail = new Map<string, NamedAddress>()
  for (const address of addresses) if (!byEmail.has(address.email)) byEmail.set(address.email, address)
  return [...byEmail.values()]
}

/** One recipient or a list, each in any form; at most MAX_RECIPIENTS. */
export const recipients = z
  .unknown()
  .transform((value, ctx): NamedAddress[] => {
    if (value === undefined || value === null) report(ctx, problem([], 'required', 'is required'))
    else if (!Array.isArray(value)) return readAll([value], () => [], ctx)
    else if (value.length === 0) report(ctx, problem([], 'too_small', 'must have at least one recipient'))
    else if (value.length > MAX_RECIPIENTS) {
      report(ctx, problem([], 'too_big', `must have at most ${MAX_RECIPIENTS} recipients`))
    } else return withoutRepeats(readAll(value, (index) => [index], ctx))
    return z.NEVER
  })
  .meta({
    scalar: 'Recipients',
    description: `Recipients: an address, "Name <address>" or { name, email }, or a list of 1 to ${MAX_RECIPIENTS} of these. Each receives a message of its own.`,
  })

function readAll(
  values: unknown[],
  pathOf: (index: number) => Problem['path'],
  ctx: z.core.$RefinementCtx<unknown>,
): NamedAddress[] {
  const results = values.map((value, index) => readAddress(value, pathOf(index)))
  for (const result of results) if (isProblem(result)) report(ctx, result)
  return results.filter(isAddress)
}

/** `form` tells how it was given: the deprecated field `name` belongs to a text without a name only. */
export type Sender = NamedAddress & { form: 'text' | 'object' }

/** A sender: one address in any form, its domain in ASCII, as domains are verified. */
export const sender = z
  .unknown()
  .transform((value, ctx): Sender => {
    const result = readAddress(value, [])
    if (isProblem(result)) {
      report(ctx, result)
      return z.NEVER
    }
    const form = typeof value === 'string' ? 'text' : 'object'
    return { ...result, email: withAsciiDomain(result.email), form }
  })
  .meta({ scalar: 'Sender', description: 'An address, "Name <address>" or { name, email }.' })

const ADDRESS_JSON = {
  type: 'object',
  required: ['email'],
  properties: {
    email: { type: 'string', format: 'email' },
    name: { type: ['string', 'null'], maxLength: MAX_NAME },
  },
}

/** The JSON Schema of `sender`, which zod cannot tell by itself. */
export const SENDER_JSON = { anyOf: [{ type: 'string', minLength: 1 }, ADDRESS_JSON] }

/** The JSON Schema of `recipients`. */
export const RECIPIENTS_JSON = {
  anyOf: [...SENDER_JSON.anyOf, { type: 'array', items: SENDER_JSON, minItems: 1, maxItems: MAX_RECIPIENTS }],
}
