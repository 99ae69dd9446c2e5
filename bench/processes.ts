import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'

const root = path.join(import.meta.dirname, '..')

/** A child process that answers in JSON lines. */
export type Talker = {
  pid: number
  ask: (line: string) => Promise<Record<string, number>>
  stop: () => Promise<void>
}

const START_TIMEOUT_MS = 30_000

export async function startTalker(file: string): Promise<{ talker: Talker; hello: Record<string, number> }> {
  const child = spawn(process.execPath, [path.join(root, file)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => JSON.parse((await lines.next()).value ?? '{}')
  const talker: Talker = {
    pid: child.pid ?? 0,
    ask: async (line) => {
      child.stdin.write(`${line}\n`)
      return next()
    },
    stop: () => stopChild(child),
  }
  return { talker, hello: await next() }
}

export type ServiceProcess = {
  url: string
  pid: number
  /** Resident memory now, in MB. */
  memory: () => number
  /** Peak resident memory so far, in MB. */
  peakMemory: () => number
  /** CPU time used so far, in seconds. */
  cpuSeconds: () => number
  stop: () => Promise<void>
}

/** Starts the service as a user would, in a process of its own. */
export async function startServiceProcess(env: Record<string, string>): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [path.join(root, 'src/bin/serve.ts')], {
    env: { ...process.env, LOG_LEVEL: 'info', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = `http://127.0.0.1:${env.PORT}`
  await ready(child)
  // What the service logs must be read, or it would wait for us.
  child.stdout.resume()
  const pid = child.pid ?? 0
  return {
    url,
    pid,
    memory: () => Number(/VmRSS:\s+(\d+)/.exec(procFile(pid, 'status'))?.[1] ?? 0) / 1024,
    peakMemory: () => Number(/VmHWM:\s+(\d+)/.exec(procFile(pid, 'status'))?.[1] ?? 0) / 1024,
    cpuSeconds: () => {
      const fields = procFile(pid, 'stat').split(') ')[1]?.split(' ') ?? []
      return (Number(fields[11]) + Number(fields[12])) / 100
    },
    stop: () => stopChild(child),
  }
}

/** Only Linux tells; elsewhere the figures are 0. */
function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

/** Resolves when the service says that it is ready; fails when it ends or takes too long. */
async function ready(child: ChildProcess): Promise<void> {
  let output = ''
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const fail = () => reject(new Error(`the service did not start:\n${output}`))
  const timer = setTimeout(fail, START_TIMEOUT_MS)
  const read = (chunk: Buffer) => {
    output += chunk.toString()
    if (output.includes('Mailwright is ready')) resolve()
  }
  child.stdout?.on('data', read)
  child.once('exit', fail)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    child.stdout?.off('data', read)
    child.off('exit', fail)
  }
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const kill = setTimeout(() => child.kill('SIGKILL'), 20_000)
  await exited
  clearTimeout(kill)
}
