import path from 'node:path'

// The program that `commandLine` runs: the command line's own entry again and again, without loading its parts anew.

const CLI = path.resolve(import.meta.dirname, '../../src/bin/cli.ts')

class Exit extends Error {
  readonly code: number

  constructor(code: number) {
    super(`exit ${code}`)
    this.code = code
  }
}

export type Command = { number: number; args: string[]; env: Record<string, string> }

process.exit = (code) => {
  throw new Exit(Number(code ?? process.exitCode ?? 0))
}
// Every command listens, and expects to be the only one.
process.setMaxListeners(0)
process.stdout.setMaxListeners(0)

process.on('message', async ({ number, args, env }: Command) => {
  process.argv = [process.execPath, CLI, ...args]
  process.env = env
  process.exitCode = 0
  let code: number
  try {
    await import(`${CLI}?${number}`)
    code = Number(process.exitCode)
  } catch (error) {
    if (!(error instanceof Exit)) throw error
    code = error.code
  }
  // Both streams are pipes, which are written at once.
  process.stdout.write('\0')
  process.stderr.write('\0')
  process.send?.({ code })
})
