import * as assert from 'uvu/assert'
import { TextParts } from '../../src/features/delivery/text-parts.ts'
import type { JsonObject } from '../../src/lib/json.ts'
import { RenderingBusy, RenderThreads } from '../../src/templating/render-threads.ts'
import { Rendering } from '../../src/templating/rendering.ts'
import { textFromHtml } from '../../src/templating/text-part.ts'
import { RenderedTooLarge } from '../../src/templating/work-meter.ts'
import { scenario } from '../support/scenario.ts'

const loop = (items: number): JsonObject => ({
  l: Array.from({ length: items }, (_, index) => index),
  x: '<&>',
})
const LOOP = { subject: '{{x}}', body: '<p>{{#l}}{{.}}{{x}} {{/l}}</p>' }

const filled = (items: number) =>
  `<p>${Array.from({ length: items }, (_, index) => `${index}&lt;&amp;&gt; `).join('')}</p>`

async function error(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => assert.unreachable('it succeeded'),
    (thrown: unknown) => thrown,
  )
}

scenario(
  'Rendering',
  () => new Rendering(),
  (test) => {
    test('gives the same for little and for much work', async (rendering) => {
      for (const items of [1, 1_000, 60_000]) {
        const caller = { owner: 'a', budget: rendering.newBudget() }
        const result = await rendering.run('message', { ...LOOP, variables: loop(items) }, caller)
        assert.equal(result, { subject: '<&>', html: filled(items), text: null })
      }
    })

    test('does much work on another thread', async (rendering) => {
      const order: string[] = []
      const large = { ...LOOP, variables: loop(60_000) }
      const work = rendering.run('message', large, { owner: 'a', budget: rendering.newBudget() })
      await Promise.all([
        work.then(() => order.push('rendered')),
        new Promise<void>((resolve) => setImmediate(resolve)).then(() => order.push('others')),
      ])
      assert.equal(order, ['others', 'rendered'])
    })

    test('says what is wrong with a template, whichever thread reads it', async (rendering) => {
      for (const lines of [1, 50_000]) {
        const template = `${'{{x}}\n'.repeat(lines)}{{`
        const problem = await rendering.run(
          'check',
          { template },
          { owner: 'a', budget: rendering.newBudget() },
        )
        assert.is(problem, `Unclosed tag (line ${lines + 1})`)
      }
    })

    test('is charged to one budget, here and there', async (rendering) => {
      const budget = rendering.newBudget()
      const input = { ...LOOP, variables: loop(30_000) }
      const render = () => rendering.run('message', input, { owner: 'a', budget })
      let rendered = 0
      const refused = await error(
        (async () => {
          for (; rendered < 50; rendered += 1) await render()
        })(),
      )
      assert.instance(refused, RenderedTooLarge)
      assert.ok(rendered >= 1 && rendered < 20, `${rendered} were rendered`)
      assert.instance(await error(render()), RenderedTooLarge)
    })

    test('leaves nothing for others when one task comes to too much', async (rendering) => {
      const budget = rendering.newBudget()
      const render = (items: number) =>
        rendering.run('message', { ...LOOP, variables: loop(items) }, { owner: 'a', budget })
      assert.instance(await error(render(1_000_000)), RenderedTooLarge)
      assert.instance(await error(render(1)), RenderedTooLarge)
    })

    test('shares a budget between what is asked for at once', async (rendering) => {
      const budget = rendering.newBudget()
      const input = { ...LOOP, variables: loop(30_000) }
      const all = await Promise.allSettled(
        Array.from({ length: 30 }, () => rendering.run('message', input, { owner: 'a', budget })),
      )
      const rendered = all.filter(({ status }) => status === 'fulfilled').length
      assert.ok(rendered >= 1 && rendered < 20, `${rendered} were rendered`)
    })

    test('makes the same text part of long markup as of short', async (rendering) => {
      const html = '<p>Hello <b>you</b> <a href="https://x.example">there</a></p>'
      for (const times of [1, 1_000]) {
        const markup = html.repeat(times)
        assert.is(await rendering.textOf(markup, 'a'), textFromHtml(markup))
      }
    })

    test('makes the text part of all mail that is on its way, however much there is', async (rendering) => {
      const texts = new TextParts({ config: { apiUrl: 'https://mail.example' }, rendering })
      const bodies = Array.from({ length: 120 }, (_, n) => `<h1>Hello ${n}</h1>${'<p>you</p>'.repeat(500)}`)
      const made = await Promise.all(bodies.map((html) => texts.of('a', html)))
      assert.equal(made, bodies.map(textFromHtml))
    })

    test('makes the text part of messages with the same body once', async (rendering) => {
      const texts = new TextParts({ config: { apiUrl: 'https://mail.example' }, rendering })
      const html = '<p>Hello</p>'.repeat(1_000)
      const first = texts.of('a', html)
      assert.is(texts.of('a', `${html}`), first)
      assert.is(await first, textFromHtml(html))
      assert.is(texts.of('b', html), first)
      assert.is.not(texts.of('a', `${html}!`), first)
    })
  },
)

const job = () => ({
  name: 'text' as const,
  input: '{"html":"<p>Hello</p>"}',
  allowance: { work: 0, characters: 0 },
})

scenario(
  'Threads that render',
  () => new RenderThreads(),
  (test) => {
    test('take so many tasks of one project, and others all the same', async (threads) => {
      const own = Array.from({ length: 60 }, () => threads.run('busy', job))
      const other = threads.run('other', job)
      const results = await Promise.allSettled(own)
      const refused = results.filter(({ status }) => status === 'rejected')
      assert.is(refused.length, 10)
      for (const one of refused) assert.instance(one.status === 'rejected' && one.reason, RenderingBusy)
      assert.is((await other)?.value, 'Hello')
    })

    test('give up a task that takes too long, and take the next one', async (threads) => {
      const hurried = new RenderThreads({ taskMs: 1 })
      const long = () => ({ ...job(), input: JSON.stringify({ html: '<p>Hello</p>'.repeat(100_000) }) })
      assert.is(await hurried.run('a', long), null)
      assert.is(await hurried.run('a', long), null)
      await hurried.stop()
      assert.is((await threads.run('a', job))?.value, 'Hello')
    })

    test('tell of what they cannot do, and take the next task', async (threads) => {
      assert.instance(await error(threads.run('a', () => ({ ...job(), input: 'no JSON' }))), SyntaxError)
      assert.is((await threads.run('a', job))?.value, 'Hello')
    })
  },
)
