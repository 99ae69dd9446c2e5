import type { JsonObject, JsonValue } from '../../../lib/json.ts'
import { webAddress } from '../../../lib/net/web-address.ts'

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export type WebhookConfig = {
  url: string
  method: (typeof METHODS)[number]
  headers?: Record<string, string> | undefined
  body?: unknown
}

/** What one call may send, in bytes. */
export const MAX_BODY = 262_144
const MAX_HEADER = 8_192

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/
/** Headers that belong to the connection (RFC 9110, 7.6.1), that HTTP makes itself, or that the service signs with. */
const OWN_HEADERS =
  /^(connection|content-length|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|webhook-.*)$/i

/** Why a header cannot be set; null when it can. */
export function problemOfHeader(name: string): string | null {
  if (!TOKEN.test(name)) return 'is not the name of a header'
  return OWN_HEADERS.test(name) ? 'is a header that the service sets itself' : null
}

/** Scheme and host without a variable, user name or backslash, which browsers take for a slash. */
const ORIGIN = /^https?:\/\/[^/?#{}\s@\\]+([/?#]|$)/i
const TAG = /\{\{\{?[^{}]*\}?\}\}/g
const DOTS = /^(\.|%2e){1,2}$/i

/** Whether an address leads where its template says, whatever the values are: they fill parts of it, escaped. */
export const isAddressTemplate = (template: string): boolean =>
  ORIGIN.test(template) && addressOf(template.replace(TAG, 'x')) !== null

/** The address that a text is; null when it is none, or values have made a step up of it. */
export function addressOf(text: string): string | null {
  const [path = ''] = text.split(/[?#]/)
  const isUp = path.split(/[/\\]/).some((part) => DOTS.test(part))
  return isUp ? null : (webAddress(text)?.href ?? null)
}

/** A template of a step, and where it stands in the settings. */
export type StepText = { field: string; template: string; purpose: 'text' | 'url' }

/** The templates of a call: the address, then the headers, then every text of the body. */
export function textsOf({ url, headers = {}, body }: WebhookConfig): StepText[] {
  const inBody: string[] = []
  JSON.stringify(body, (_key, value: unknown) => {
    if (typeof value === 'string') inBody.push(value)
    return value
  })
  return [
    { field: 'config.url', template: url, purpose: 'url' },
    ...Object.entries(headers).map(([name, template]) => ({
      ...{ field: `config.headers.${name}`, template, purpose: 'text' as const },
    })),
    ...inBody.map((template) => ({ field: 'config.body', template, purpose: 'text' as const })),
  ]
}

export type Filled = { url: string; method: string; headers: Record<string, string>; body: string }

/** The call of the settings with its texts filled in, in the order of `textsOf`; a string says why it cannot be made. */
export function callFrom(config: WebhookConfig, texts: readonly string[]): Filled | string {
  const url = addressOf(texts[0] ?? '')
  if (url === null) {
    return `The address of the webhook would be "${(texts[0] ?? '').slice(0, 200)}", which cannot be called.`
  }
  const names = Object.keys(config.headers ?? {})
  const headers = names.map((name, index): [string, string] => [
    name.toLowerCase(),
    headerValue(texts[index + 1] ?? ''),
  ])
  const long = headers.find(([, value]) => value.length > MAX_HEADER)
  if (long) return `The header ${long[0]} of the webhook would be longer than ${MAX_HEADER} bytes.`
  const { body, type } = bodyFrom(config.body, texts.slice(names.length + 1))
  if (Buffer.byteLength(body) > MAX_BODY) {
    return `The body of the webhook would be larger than ${MAX_BODY} bytes.`
  }
  return {
    ...{ url, method: config.method, body },
    headers: { ...(type !== null && { 'content-type': type }), ...Object.fromEntries(headers) },
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROLS = /[\x00-\x1f\x7f]+/g

/** One line; what is not ASCII goes as the bytes of UTF-8, which Node wants as Latin-1. */
const headerValue = (text: string): string =>
  Buffer.from(text.replace(CONTROLS, ' ').trim()).toString('latin1')

function bodyFrom(body: unknown, texts: readonly string[]): { body: string; type: string | null } {
  if (body === undefined || body === null) return { body: '', type: null }
  if (typeof body === 'string') return { body: texts[0] ?? '', type: 'text/plain; charset=utf-8' }
  const left = texts.values()
  const filled = JSON.stringify(body, (_key, value: JsonValue | JsonObject) =>
    typeof value === 'string' ? (left.next().value ?? '') : value,
  )
  return { body: filled, type: 'application/json' }
}
