import { parse } from 'graphql'
import * as assert from 'uvu/assert'
import { createDocuments } from '../../src/graphql/limits/documents.ts'
import { MINUTE } from '../support/clock.ts'
import { assertGraphQLRefused } from '../support/refusals.ts'
import { nothingShared, scenario, sharedStart } from '../support/scenario.ts'
import { startService } from '../support/service.ts'

const start = sharedStart(startService)

const KB = 1024
/** A document of so many characters, most of them a comment. */
const documentOf = (length: number, mark = '') =>
  `#${mark}`.padEnd(length - 15, 'x').concat('\n{ __typename }')

scenario('A GraphQL document', start, (test) => {
  test('of more than 16 KB needs a key, and the refusal says so', async ({ as, graphql, project }) => {
    assert.is(documentOf(16 * KB).length, 16 * KB)
    assert.equal((await graphql(documentOf(16 * KB))).body, { data: { __typename: 'Query' } })
    for (const length of [16 * KB + 1, 20 * KB, 900 * KB]) {
      const refused = await graphql(documentOf(length))
      assertGraphQLRefused(refused, 413, 'PAYLOAD_TOO_LARGE')
      assert.match(refused.body.errors[0].message, /16 KB need an API key/)
      for (const key of [project.public, project.secret]) {
        const answer = await as(key).graphql(documentOf(length))
        assert.equal(answer.body, { data: { __typename: 'Query' } })
      }
    }
  })

  test('over GET neither', async ({ call }) => {
    const query = new URLSearchParams({ query: documentOf(17 * KB) })
    const refused = await call('GET', `/graphql?${query}`, { headers: { 'x-graphql-yoga-csrf': '1' } })
    assertGraphQLRefused(refused, 413, 'PAYLOAD_TOO_LARGE')
  })
})

scenario('Without a key', start, (test) => {
  test('a document has at most 500 tokens', async ({ as, graphql, project }) => {
    const tokens = (count: number) => `{ ${'__typename '.repeat(count - 2)}}`
    assert.is((await graphql(tokens(500))).body.errors, undefined)
    const refused = await graphql(tokens(501))
    assertGraphQLRefused(refused, 400, 'BAD_REQUEST')
    assert.match(refused.body.errors[0].message, /token limit of 500/i)
    assert.is((await as(project).graphql(tokens(501))).body.errors, undefined)
  })
})

const counted = () => startService({ RATE_LIMIT_PER_MINUTE: '100', STRANGER_RATE_LIMIT_PER_MINUTE: '12' })

scenario('A document that is not known', counted, (test) => {
  test('counts more, by its length, and once', async ({ as, project, clock }) => {
    clock.advance(MINUTE - (clock.now().getTime() % MINUTE))
    const left = async (length: number, mark: string) => {
      const { headers } = await as(project).graphql(documentOf(length, mark))
      return Number(headers.get('ratelimit-remaining'))
    }
    assert.is(await left(1_000, 'short'), 99)
    assert.is(await left(3 * KB, 'a'), 95)
    assert.is(await left(3 * KB, 'a'), 94)
    assert.is(await left(3 * KB, 'b'), 90)
    assert.is(await left(500 * KB, 'long'), 81)
    assert.is(await left(500 * KB, 'long'), 72, 'it is too long to be remembered')
  })

  test('counts more without a key, too', async ({ graphql }) => {
    assert.is((await graphql(documentOf(16 * KB, 'stranger'))).status, 200)
    const refused = await graphql(documentOf(16 * KB, 'another'))
    assert.is(refused.status, 429)
    assertGraphQLRefused(refused, 429, 'RATE_LIMIT_EXCEEDED')
  })
})

scenario('Parsed documents', nothingShared, (test) => {
  test('are remembered up to 16 KB each, and errors are not', () => {
    const { documentCache, errorCache } = createDocuments(2_000).caches
    for (const [length, isRemembered] of [
      [100, true],
      [16 * KB, true],
      [16 * KB + 1, false],
      [1024 * KB, false],
    ] as const) {
      const text = documentOf(length)
      const document = parse(text)
      documentCache.set(text, document)
      assert.is(documentCache.get(text), isRemembered ? document : undefined)
    }
    errorCache.set()
    assert.is(errorCache.get(), undefined)
  })

  test('make room for others, by what they take in memory', () => {
    const { documentCache } = createDocuments(2_000).caches
    /** Many tokens in few characters: about a megabyte each. */
    const dense = (index: number) => `{ a${index} ${'f '.repeat(1_990)}}`
    for (let index = 0; index < 40; index += 1) documentCache.set(dense(index), parse(dense(index)))
    const left = Array.from({ length: 40 }, (_, index) => documentCache.get(dense(index))).filter(Boolean)
    assert.ok(left.length >= 10 && left.length <= 17, `${left.length} left`)
    assert.ok(documentCache.get(dense(39)))
    assert.is(documentCache.get(dense(0)), undefined)
  })
})
