import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { parseTree } from '../../src/audience/parsing/parse.ts'
import { referencesOf } from '../../src/audience/references.rules.ts'
import { interestsIn } from '../../src/changes/interests.ts'
import { scenario } from '../support/scenario.ts'
import { startService } from '../support/service.ts'
import { filesOf } from '../support/sources.ts'

const [file = ''] = filesOf('prisma/migrations/*_changes_and_interests/migration.sql')
const MIGRATION = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
const partOf = (start: string, end: string) =>
  MIGRATION.slice(MIGRATION.indexOf(start), MIGRATION.indexOf(end))

const filter = (field: string, operator = 'exists') => ({ field, operator })

/** Every kind of field, two trees deep, with keys that hold dots and backslashes. */
const conditionOn = (segment: string) => ({
  logic: 'OR',
  groups: [
    {
      filters: [
        filter('data.plan'),
        filter('data.address.zip\\.code'),
        filter('data.a\\.b.c'),
        filter('data.back\\\\.slash'),
        filter('data.lone\\x.y'),
      ],
      conditions: {
        logic: 'AND',
        groups: [
          {
            filters: [
              filter('event.bought.it', 'triggered'),
              filter('email.opened', 'triggered'),
              filter('email.bounced', 'notTriggered'),
              filter(`segment.${segment.toUpperCase()}`, 'memberOfSegment'),
              { field: 'subscribed', operator: 'equals', value: true },
              { field: 'updatedAt', operator: 'within', value: 1, unit: 'days' },
            ],
          },
        ],
      },
    },
  ],
})

scenario(
  'The migration to interests',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('fills them as the service does, and has those listen that a tracked segment is made of', async (service) => {
      const [inner = '', outer = '', other = ''] = Array.from({ length: 3 }, (): string => randomUUID())
      const conditions = {
        [inner]: conditionOn(other),
        [outer]: { logic: 'AND', groups: [{ filters: [filter(`segment.${inner}`, 'memberOfSegment')] }] },
        [other]: { logic: 'AND', groups: [{ filters: [filter('data.other')] }] },
        [randomUUID()]: { logic: 'AND', groups: [{ filters: [filter('data.silent')] }] },
      }
      for (const [id, condition] of Object.entries(conditions)) {
        await service.sql(
          `insert into segments (project_id, id, name, slug, condition, track_membership, created_at, updated_at)
           values ($1, $2::uuid, 'S', $2::text, $3, $4, now(), now())`,
          [service.project.id, id, JSON.stringify(condition), id === outer],
        )
      }
      await service.sql('delete from interests')
      await service.sql(partOf('INSERT INTO "interests"', '-- Tracked segments listen'))
      await service.sql(partOf('WITH RECURSIVE listening', '-- What nobody has followed yet'))
      for (const [id, condition] of Object.entries(conditions)) {
        const listens = [inner, outer, other].includes(id)
        const expected = interestsIn(referencesOf(parseTree(condition, '')), listens)
        const found = await service.sql(
          'select kind::text, name, listens from interests where consumer_id = $1',
          [id],
        )
        const sorted = (rows: { kind?: unknown; name?: unknown }[]) =>
          rows.toSorted((a, b) => (`${a.kind} ${a.name}` < `${b.kind} ${b.name}` ? -1 : 1))
        assert.equal(sorted(found), sorted(expected))
      }
    })
  },
)
