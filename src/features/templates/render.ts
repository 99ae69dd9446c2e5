import { type Ctx, projectIdOf } from '../../ctx.ts'
import { renderedTooLarge, renderingBusy } from '../../errors.ts'
import { RenderingBusy } from '../../templating/render-threads.ts'
import type { MeteredTask, TaskInput, TaskResult } from '../../templating/tasks.ts'
import type { TrackedTemplate } from '../../templating/tracked-links.ts'
import { RenderedTooLarge } from '../../templating/work-meter.ts'

/**
 * Renders for the caller. Throws PAYLOAD_TOO_LARGE when the whole request costs more than it may, and SERVICE_UNAVAILABLE
 * when too many large tasks of the project wait.
 */
export const render = <Name extends MeteredTask>(
  ctx: Ctx,
  name: Name,
  input: TaskInput<Name>,
): Promise<TaskResult<Name>> =>
  withPublicErrors(
    ctx.services.rendering.run(name, input, { owner: projectIdOf(ctx), budget: ctx.renderBudget }),
  )

/** A body whose links are tracked. Throws as `render` does. */
export const trackedBody = (ctx: Ctx, body: string, ownUrl: string): Promise<TrackedTemplate> =>
  withPublicErrors(
    ctx.services.rendering.trackedOf(body, ownUrl, {
      owner: projectIdOf(ctx),
      budget: ctx.renderBudget,
    }),
  )

/** The text part that a message with this body gets. Throws SERVICE_UNAVAILABLE as `render` does. */
export const renderText = (ctx: Ctx, html: string): Promise<string> =>
  withPublicErrors(ctx.services.rendering.textOf(html, projectIdOf(ctx)))

async function withPublicErrors<Result>(rendering: Promise<Result>): Promise<Result> {
  try {
    return await rendering
  } catch (error) {
    if (error instanceof RenderedTooLarge) throw renderedTooLarge()
    throw error instanceof RenderingBusy ? renderingBusy() : error
  }
}
