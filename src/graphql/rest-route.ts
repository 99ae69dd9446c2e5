import type { ErrorCode } from '../errors.ts'
import type { Upload } from '../http/multipart.ts'

export type RestMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Where and how an operation answers over REST. The oddities of the contract are flags here. */
export type RestRoute = {
  method: RestMethod
  /** `:name` stands for the argument of that name. */
  path: string
  /** A second path, where an argument that stands in the first one is a parameter of the query string. */
  byQuery: { path: string; parameter: string; argument: string } | null
  status: number
  /** The section of the API description. */
  tag: string
  /** The answer is `{ success: true, data }` instead of the resource itself. */
  wrapped: boolean
  /** The body may be as large as a message with attachments. */
  takesMessage: boolean
  /** The operation's own statement checks the key again, so the request may start from a remembered one. */
  rechecksKey: boolean
  /** Fields whose absence is answered with 400 and the short body `{ error }`; or every bad field is. */
  shortErrorFor: readonly string[] | 'anyField'
  /** The body is multipart/form-data with one file, which is the field of that name in `input`. */
  upload: Upload | null
  /** The status of answers for which this is true, where the outcome decides. */
  otherStatus: { status: number; applies: (data: unknown) => boolean } | null
  /** A field of the answer that stands beside `data` when the answer is wrapped. */
  besideData: string | null
  /** Fields that are not in the answer when they are null. */
  omittedWhenNull: readonly string[]
  /** Arguments that only GraphQL has. */
  graphqlOnly: readonly string[]
  /** Error codes of the operation, besides those that every operation of its kind can return. */
  errors: readonly ErrorCode[]
}

type Options = Partial<Omit<RestRoute, 'method' | 'path' | 'tag'>>

const route =
  (method: RestMethod, status: number) =>
  (path: string, tag: string, options: Options = {}): RestRoute => ({
    method,
    path,
    tag,
    byQuery: null,
    status,
    wrapped: false,
    takesMessage: false,
    rechecksKey: false,
    shortErrorFor: [],
    upload: null,
    otherStatus: null,
    besideData: null,
    omittedWhenNull: [],
    graphqlOnly: [],
    errors: [],
    ...options,
  })

export const get = route('GET', 200)
export const post = route('POST', 200)
/** A POST that creates something. */
export const create = route('POST', 201)
export const put = route('PUT', 200)
export const patch = route('PATCH', 200)
export const remove = route('DELETE', 204)

/** How a route is named to callers: "POST /v1/send". */
export const nameOf = ({ method, path }: Pick<RestRoute, 'method' | 'path'>): string => `${method} ${path}`
