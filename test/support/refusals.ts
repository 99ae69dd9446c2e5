import * as assert from 'uvu/assert'
import type { Answer, Body } from './service.ts'

/** Checks status, code and the whole standard envelope of an error; returns its `error`. */
export function assertRefused(answer: Answer, status: number, code: string): Body {
  assert.is(answer.status, status, answer.text)
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
  assert.is(answer.body.success, false)
  assert.is(new Date(answer.body.timestamp).toISOString(), answer.body.timestamp)
  assertError(answer, answer.body.error, status, code)
  return answer.body.error
}

/** The same for the first error of a GraphQL answer, whatever the status of the HTTP answer; returns its `extensions`. */
export function assertGraphQLRefused(answer: Answer, status: number, code: string): Body {
  const [error] = answer.body?.errors ?? []
  assert.ok(error, `there is no error in ${answer.text}`)
  const { extensions, message } = error
  assertError(answer, { message, ...extensions }, status, code)
  return extensions
}

function assertError(answer: Answer, error: Body, status: number, code: string): void {
  assert.is(error.code, code, answer.text)
  assert.is(error.statusCode, status)
  assert.type(error.message, 'string')
  assert.ok(error.message.length > 0)
  assert.ok(error.requestId)
  assert.is(error.requestId, answer.headers.get('x-request-id'))
}
