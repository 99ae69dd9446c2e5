import { getPriority, setPriority } from 'node:os'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { type Answer, type Job, perform, type TaskName } from './tasks.ts'
import { TemplateCache } from './template-cache.ts'
import { RenderedTooLarge, WorkMeter } from './work-meter.ts'

/** Nice value: requests go first when processors are short. */
const PRIORITY = 5

// On Linux it is that of a thread, elsewhere it would be that of the process. A process that is nice itself stays as it is.
if (process.platform === 'linux' && getPriority() < PRIORITY) giveWay()

function giveWay(): void {
  try {
    setPriority(PRIORITY)
  } catch {
    // A sandbox may not allow it; the work is the same without.
  }
}

if (parentPort) work(parentPort)

function work(port: MessagePort): void {
  const templates = new TemplateCache()
  port.on('message', (job: Job<TaskName>) => port.postMessage(answerTo(job, templates)))
  port.postMessage('ready')
}

function answerTo({ name, input, allowance }: Job<TaskName>, templates: TemplateCache): Answer<TaskName> {
  const meter = new WorkMeter(allowance)
  try {
    return { result: { value: perform(name, JSON.parse(input), { meter, templates }), spent: meter.spent } }
  } catch (error) {
    if (error instanceof RenderedTooLarge) return { result: null }
    throw error
  }
}
