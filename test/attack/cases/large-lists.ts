import type { Attack, Target } from '../define-attack.ts'

const TEMPLATES = 100
const TEMPLATE_BYTES = 1_000_000
const LISTS = 8

async function makeTemplates({ url, unlimited }: Target): Promise<void> {
  const headers = { authorization: `Bearer ${unlimited.secret}`, 'content-type': 'application/json' }
  for (let index = 0; index < TEMPLATES; index += 1) {
    const template = {
      name: `Large ${index}`,
      subject: 'Large',
      body: 'x'.repeat(TEMPLATE_BYTES),
      from: `large@${unlimited.domain}`,
    }
    const answer = await fetch(`${url}/templates`, {
      method: 'POST',
      headers,
      body: JSON.stringify(template),
    })
    if (answer.status !== 201) throw new Error(`A template was refused: ${await answer.text()}`)
  }
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
