import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { type Body, type Service, until } from '../support/service.ts'
import type { Command } from './cli-host.ts'

const root = resolve(import.meta.dirname, '../..')
const TIMEOUT_MS = 60_000

export type Ended = { code: number | null; stdout: string; stderr: string }
type Env = Record<string, string>
type Run = (args: string[], env?: Env) => Promise<Ended>

/** What reaches a command line of this process's own settings. */
const INHERITED = { NODE_ENV: 'test', NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '' }

/** What a process has printed so far. */
function outputOf(child: ChildProcess) {
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (chunk: Buffer) => {
      output[stream] += chunk.toString()
    })
  }
  return output
}

/** A command line that runs in a process of its own. */
export function startCli(args: string[], env: Env) {
  const child = spawn(process.execPath, [resolve(root, 'src/bin/cli.ts'), ...args], {
    cwd: root,
    env: { ...INHERITED, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  const output = outputOf(child)
  const ended = new Promise<Ended>((settle) => child.on('close', (code) => settle({ code, ...output })))
  return { child, ended }
}

/** Commands with these settings, or others that are given, each in a process of its own. */
export const commands = (env: Env = {}) => readers((args, other = env) => startCli(args, other).ended)

/** The same one after the other in one process, which spares each of them the time that a start takes. */
export function commandLine(env: Env = {}) {
  const host = fork(resolve(import.meta.dirname, 'cli-host.ts'), { cwd: root, silent: true })
  const output = outputOf(host)
  let number = 0
  const run: Run = async (args, other = env) => {
    number += 1
    const command: Command = { number, args, env: { ...INHERITED, ...other } }
    host.send(command)
    const [said] = await Promise.race([once(host, 'message'), once(host, 'exit')])
    if (typeof said?.code !== 'number') throw new Error(`The command line has ended: ${output.stderr}`)
    await until('all that it has printed', () => Object.values(output).every((text) => text.endsWith('\0')))
    const { stdout, stderr } = output
    Object.assign(output, { stdout: '', stderr: '' })
    return { code: said.code, stdout: stdout.slice(0, -1), stderr: stderr.slice(0, -1) }
  }
  return { ...readers(run), stop: () => void host.kill('SIGKILL') }
}

function readers(run: Run) {
  return {
    run,
    /** Runs a command that must succeed with --json, and returns the one document that it prints. */
    json: async (args: string[], env?: Env): Promise<Body> => {
      const { code, stdout, stderr } = await run([...args, '--json'], env)
      if (code !== 0 || stderr !== '') throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
      if (stdout.split('\n').length !== 2 || !stdout.endsWith('\n'))
        throw new Error(`Not one line: ${stdout}`)
      return JSON.parse(stdout)
    },
    /** The one line on standard error of a command that must fail and say nothing else. */
    refusal: async (args: string[], env?: Env): Promise<string> => {
      const { code, stdout, stderr } = await run(args, env)
      if (code !== 1 || stdout !== '') throw new Error(`${args.join(' ')} ended with ${code}: ${stdout}`)
      if (stderr.split('\n').length !== 2) throw new Error(`Not one line: ${stderr}`)
      return stderr.trimEnd()
    },
  }
}

/** A service, and a command line with the settings that find the same database and secrets. */
export function withCommands(service: Service) {
  const { databaseUrl, dataDir } = service.app.config
  const env = { DATABASE_URL: databaseUrl ?? '', DATA_DIR: dataDir }
  const cli = commandLine(env)
  const stop = async () => {
    cli.stop()
    await service.stop()
  }
  return { ...service, env, cli, stop }
}
