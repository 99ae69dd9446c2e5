import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { statement } from '../../../src/db/sql.ts'
import { changesData, mergeData, readData } from '../../../src/features/contacts/contact-data.rules.ts'
import { upsertContactCtes } from '../../../src/features/contacts/upsert-contact.sql.ts'
import type { JsonObject } from '../../../src/lib/json.ts'
import { scenario } from '../../support/scenario.ts'
import { runs } from '../../support/seeded.ts'
import { type Service, startService } from '../../support/service.ts'

type Upsert = { projectId: string; id: string; email: string; set: string; unset: string[]; now: Date }

const upsert = statement<Upsert, { id: string }>(
  'upsert-for-test',
  `with person as (select :projectId::uuid as project_id, :id::uuid as id, :email::text as email),
   ${upsertContactCtes({ subscribed: 'null', defaultSubscribed: 'true', set: ':set', unset: ':unset' })}
   select id from contact`,
)

/** Applies an input to the contact in the database; the contact is made when it is new. */
async function applied(
  { ctx, project, sql }: Service,
  email: string,
  input: JsonObject,
): Promise<JsonObject> {
  const { set, unset } = readData(input)
  await ctx(project.id).sql(upsert, {
    projectId: project.id,
    id: randomUUID(),
    email,
    set: JSON.stringify(set),
    unset,
    now: new Date(),
  })
  const [row] = await sql<{ data: JsonObject }>('select data from contacts where email = $1', [email])
  if (!row) throw new Error('the contact is not there')
  return row.data
}

/** A few keys, so that inputs meet; the ones that JavaScript or the service treat apart among them. */
const key = fc.oneof(
  fc.constantFrom('a', 'b', 'c', 'd', '', '0', 'id', 'email', 'data', '__proto__', 'constructor', 'ключ'),
  fc.string({ maxLength: 3 }).filter((text) => !text.includes('\0')),
)

const storable = fc
  .jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })
  .filter((value) => !JSON.stringify(value).includes('\\u0000'))

const value = fc.oneof(
  storable,
  fc.constantFrom(null, '', 0, false),
  fc.record({ value: storable, persistent: fc.boolean() }),
  fc.record({ value: storable, persistent: fc.constant('no') }),
)

const input: fc.Arbitrary<JsonObject> = fc
  .array(fc.tuple(key, value), { maxLength: 8 })
  .map((entries) => JSON.parse(JSON.stringify(Object.fromEntries(entries))))

scenario(
  'Data of a contact',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('is merged by the database as readData and mergeData say', async (service) => {
      let contacts = 0
      await fc.assert(
        fc.asyncProperty(fc.array(input, { minLength: 1, maxLength: 4 }), async (inputs) => {
          contacts += 1
          const email = `property${contacts}@example.org`
          let expected: JsonObject = {}
          for (const next of inputs) {
            expected = mergeData(expected, readData(next))
            const actual = await applied(service, email, next)
            // uvu's equal is confused by a key named "constructor".
            assert.ok(isDeepStrictEqual(actual, expected), JSON.stringify({ actual, expected }))
          }
        }),
        { numRuns: runs(200) },
      )
    })

    test('changes when merging it makes it different, and only then', () => {
      const seen = { changed: 0, same: 0 }
      const agrees = (before: JsonObject, next: JsonObject, keeps: boolean) => {
        const current = mergeData({}, readData(before))
        const change = readData(keeps ? { ...next, ...current } : next)
        const changed = !isDeepStrictEqual(mergeData(current, change), current)
        seen[changed ? 'changed' : 'same'] += 1
        assert.is(changesData(current, change), changed, JSON.stringify({ current, change }))
      }
      fc.assert(fc.property(input, input, fc.boolean(), agrees), { numRuns: 2_000 })
      assert.ok(seen.changed > 100 && seen.same > 100)
    })
  },
)
