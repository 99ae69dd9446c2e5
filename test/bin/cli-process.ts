import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import type { Body } from '../support/service.ts'

const root = resolve(import.meta.dirname, '../..')
const TIMEOUT_MS = 60_000

export type Ended = { code: number | null; stdout: string; stderr: string }

/** A command line that runs; nothing of this process's own settings reaches it but `env`. */
export function startCli(args: string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [resolve(root, 'src/bin/cli.ts'), ...args], {
    cwd: root,
    env: { NODE_ENV: 'test', NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const ended = new Promise<Ended>((settle) => child.on('close', (code) => settle({ code, stdout, stderr })))
  return { child, ended }
}

export const runCli = (args: string[], env: Record<string, string>): Promise<Ended> =>
  startCli(args, env).ended

/** Runs a command that must succeed with --json, and returns the one document that it prints. */
export async function runJson(args: string[], env: Record<string, string>): Promise<Body> {
  const { code, stdout, stderr } = await runCli([...args, '--json'], env)
  if (code !== 0 || stderr !== '') throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
  if (stdout.split('\n').length !== 2 || !stdout.endsWith('\n')) throw new Error(`Not one line: ${stdout}`)
  return JSON.parse(stdout)
}

/** The one line on standard error of a command that must fail and say nothing else. */
export async function refusal(args: string[], env: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await runCli(args, env)
  if (code !== 1 || stdout !== '') throw new Error(`${args.join(' ')} ended with ${code}: ${stdout}`)
  if (stderr.split('\n').length !== 2) throw new Error(`Not one line: ${stderr}`)
  return stderr.trimEnd()
}
