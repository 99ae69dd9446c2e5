import { randomBytes, randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { UNFINISHED } from './whole-file.ts'

const SECRET = /^[0-9a-f]{64}$/i

/**
 * The random secret in this file, 64 hex characters. It is created when it is missing; concurrent callers, in
 * this process or another one, get the same. Throws when the file cannot be used, or holds anything else: a
 * part of a secret protects nothing, and another one could not read what this one has encrypted. `withoutIt`
 * is a sentence that says what is lost with it.
 */
export function keptSecret(file: string, withoutIt: string): string {
  if (!existsSync(file)) makeSecret(file)
  const secret = readFileSync(file, 'utf8').trim()
  if (SECRET.test(secret)) return secret
  throw new Error(
    `${file} must hold 64 hex characters. Put it back from a copy. Without one, delete it: ${withoutIt}`,
  )
}

function makeSecret(file: string): void {
  const folder = dirname(file)
  mkdirSync(folder, { recursive: true })
  const unfinished = `${file}.${randomUUID()}${UNFINISHED}`
  try {
    writeFileSync(unfinished, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx', flush: true })
    // A link creates name and content at once, and fails when the name is taken.
    linkSync(unfinished, file)
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    if (!isTaken) throw error
  } finally {
    rmSync(unfinished, { force: true })
  }
  syncFolder(folder)
}

/** Makes the name durable: a power cut could undo it after the secret has been used. */
function syncFolder(folder: string): void {
  // Windows opens no folders, and keeps names by itself.
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
