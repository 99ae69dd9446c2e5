import type { Project } from '../../support/service.ts'
import type { Attack, Target } from '../define-attack.ts'

const LASTS_MS = 15_000
/** Text parts of other messages each, of the most markup that is looked at, which takes the longest. */
const BODIES_EACH = 200
const LOOP = { body: '{{#l}}{{.}}{{x}} {{/l}}', data: { l: Array(8_000).fill(1), x: '<&>' } }

function post({ url }: Target, { secret }: Project, path: string, body: object): Promise<Response> {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  return fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function sendHeavyMail(target: Target, project: Project): Promise<void> {
  for (let index = 0; index < BODIES_EACH; index += 1) {
    const body = `${project.id} ${index}${'<b>x</b>'.repeat(15_500)}`
    const mail = { to: 'a@example.org', from: `x@${project.domain}`, subject: 'x', body }
    const answer = await post(target, project, '/v1/send', mail)
    await answer.arrayBuffer()
  }
}

/** How long previews take that need a thread, one after the other. */
async function preview(target: Target, project: Project): Promise<number[]> {
  const times: number[] = []
  const query = 'query ($i: PreviewTemplateInput!) { previewTemplate(input: $i) { html } }'
  const until = performance.now() + LASTS_MS
  while (performance.now() < until) {
    const began = performance.now()
    const answer = await post(target, project, '/graphql', {
      query,
      variables: { i: { subject: 'x', ...LOOP } },
    })
    await answer.arrayBuffer()
    times.push(performance.now() - began)
  }
  return times.toSorted((a, b) => a - b)
}

export const renderingTurns: Attack = {
  name: 'rendering: heavy mail of two projects beside the previews of a third',
  before: 'a preview waited for the text parts of others, a second each',
  run: async (target) => {
    const heavy = [target.unlimited, target.tenant].map((project) => sendHeavyMail(target, project))
    const times = await preview(target, target.bystander)
    await Promise.all(heavy)
    const at = (part: number) => Math.round(times[Math.floor(times.length * part)] ?? 0)
    return `${times.length} previews, p50 ${at(0.5)}, p95 ${at(0.95)} ms`
  },
}
