import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { type Random, seeded } from '../../support/seeded.ts'
import { type Answer, type Service, startService } from '../../support/service.ts'
import {
  computed,
  elsewhere,
  follow,
  isPro,
  memberOf,
  newList,
  newSegment,
  segmentOf,
  triggered,
  waiting,
} from '../segments/segment-support.ts'

const ROUNDS = 6
const ACTIONS = 60
const PEOPLE = 8

type World = { own: Service; list: string; pro: string; tracked: string[] }

/** Segments that depend on data, on events, on a list, on each other and on each other's events. */
async function worldIn(service: Service): Promise<World> {
  const own = await elsewhere(service)
  const { id: list } = await newList(own, { name: 'List', trackMembership: true })
  const dynamic = async (name: string, ...groups: object[][]) => {
    const condition = { logic: 'OR', groups: groups.map((filters) => ({ filters })) }
    return (await newSegment(own, { name, condition, trackMembership: true })).id
  }
  const isNot = (id: string) => ({ field: `segment.${id}`, operator: 'notMemberOfSegment' })
  const pro = await dynamic('Pro', [isPro])
  const buyers = await dynamic('Buyers', [triggered('bought')], [memberOf(list)])
  const others = await dynamic('Others', [isNot(pro), isNot(buyers)])
  const returned = await dynamic('Returned', [triggered('segment.pro.exit'), memberOf(pro)])
  return { own, list, pro, tracked: [list, pro, buyers, others, returned] }
}

async function act({ own, list, pro, tracked }: World, random: Random): Promise<void> {
  const email = `p${random.between(1, PEOPLE)}@example.org`
  const { secret } = own.project
  const plan = ['pro', 'free'][random.between(0, 1)]
  const request = (method: string, path: string, body?: unknown): Promise<Answer> =>
    own.call(method, path, { key: secret, ...(body !== undefined && { body }) })
  const actions: (() => Promise<unknown>)[] = [
    () => request('POST', '/contacts', { email, data: { plan } }),
    () => request('POST', '/contacts', { email, data: { plan } }),
    () => own.as(own.project.public).post('/v1/track', { email, event: 'bought' }),
    () => own.as().post(`/segments/${list}/members`, { emails: [email], createMissing: true }),
    () => own.as().delete(`/segments/${list}/members`, { emails: [email] }),
    () => computed(own, tracked[random.between(1, tracked.length - 1)] ?? pro),
    () => follow(own),
    () => follow(own),
    () => own.as().post(`/segments/${pro}/refresh`),
    async () => {
      const { body } = await request('GET', `/contacts?search=${email}`)
      const [found] = body.data
      if (found) return request('DELETE', `/contacts/${found.id}`)
    },
  ]
  const result = await actions[random.between(0, actions.length - 1)]?.()
  if (result && typeof result === 'object' && 'status' in result) {
    assert.ok(Number(result.status) < 300 || result.status === 404, JSON.stringify(result))
  }
}

/** For each contact and segment: its moves in order begin with an entry, alternate, and end as it is now. */
async function assertMoves({ own, tracked }: World): Promise<void> {
  for (const id of tracked) {
    const rows = await own.sql<{ email: string; moves: string; isMember: boolean }>(
      `select c.email, coalesce(string_agg(substring(e.name from '[^.]*$'), ' ' order by e.created_at), '') as moves,
         exists (select from segment_members m where m.segment_id = $2::uuid and m.contact_id = c.id) as "isMember"
       from contacts c
       left join events e on e.contact_id = c.id and e.name like 'segment.%' and e.data ->> 'segmentId' = $2::text
       where c.project_id = $1 group by c.id, c.email`,
      [own.project.id, id],
    )
    for (const { email, moves, isMember } of rows) {
      assert.match(moves, isMember ? /^(entry exit )*entry$/ : /^(entry exit ?)*$/, email)
    }
  }
}

async function assertFollowed({ own, tracked }: World): Promise<void> {
  for (const id of tracked) {
    const { body } = await own.as().get(`/segments/${id}/contacts?pageSize=100`)
    const stored = await own.sql<{ id: string }>(
      'select contact_id as id from segment_members where segment_id = $1 order by 1 desc',
      [id],
    )
    const ids = body.data.map((member: { id: string }) => member.id)
    assert.equal(
      stored.map((member) => member.id),
      ids,
      (await segmentOf(own, id)).name,
    )
  }
}

scenario(
  'Members of tracked segments',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('are those of their conditions, whatever happens at the same time', (service) =>
      seeded(async (random) => {
        for (let round = 0; round < ROUNDS; round += 1) {
          const world = await worldIn(service)
          const { own, tracked } = world
          for (const id of tracked.slice(1)) await computed(own, id)
          for (let count = 0; count < ACTIONS; count += 6) {
            await Promise.all(Array.from({ length: 6 }, () => act(world, random)))
          }
          await follow(own)
          assert.is(await waiting(own), 0)
          await assertFollowed(world)
          await assertMoves(world)
          for (const id of tracked.slice(1)) {
            const { added, removed, total } = await computed(own, id)
            assert.equal([added, removed], [0, 0], 'there is nothing left to compute')
            assert.is((await segmentOf(own, id)).memberCount, total)
          }
        }
      }))
  },
)
