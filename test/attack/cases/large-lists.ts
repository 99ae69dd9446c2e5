import pg from 'pg'
import type { Attack, Target } from '../define-attack.ts'

const TEMPLATES = 100
const TEMPLATE_BYTES = 1_000_000
const LISTS = 8

async function makeTemplates({ databaseUrl, unlimited }: Target): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(
    `insert into templates (project_id, id, name, subject, body, "from", created_at, updated_at)
     select $1, gen_random_uuid(), 'Large ' || n, 'Large', repeat('x', $2), $3, now(), now()
     from generate_series(1, $4) n`,
    [unlimited.id, TEMPLATE_BYTES, `large@${unlimited.domain}`, TEMPLATES],
  )
  await client.end()
}

/** The bytes of the list, or why it did not come. */
async function readList({ url, unlimited, signal }: Target): Promise<string> {
  const headers = { authorization: `Bearer ${unlimited.secret}` }
  try {
    const answer = await fetch(`${url}/templates?pageSize=${TEMPLATES}`, { headers, signal })
    if (!answer.body) return 'nothing'
    let bytes = 0
    for await (const chunk of answer.body) bytes += chunk.length
    return answer.status === 200 ? `${Math.round(bytes / 1e6)} MB` : String(answer.status)
  } catch (error) {
    return error instanceof Error ? error.name : 'failed'
  }
}

export const largeLists: Attack = {
  name: 'eight lists of 100 templates of 1 MB at once',
  before: '2.8 GB',
  run: async (target) => {
    await makeTemplates(target)
    const began = performance.now()
    const lists = await Promise.all(Array.from({ length: LISTS }, () => readList(target)))
    return `${lists.join(', ')} in ${Math.round((performance.now() - began) / 1000)} s`
  },
}
