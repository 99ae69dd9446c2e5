import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

// The files that processes of one machine share a server with: who is alive, who uses it, and a lock.

const LOCK_WAIT_MS = 180_000

/** The arguments a process was started with, joined by blanks; undefined when it is dead or a zombie. */
export function processCommand(pid: number): string | undefined {
  if (process.platform !== 'linux') return ps('command=', pid)
  return readProc(`${pid}/cmdline`)?.replaceAll('\0', ' ') || undefined
}

/** Names one process for good: its pid alone may be given to another one later. Undefined when it is dead. */
function processIdentity(pid: number): string | undefined {
  const start = process.platform === 'linux' ? linuxStartTime(pid) : psStartTime(pid)
  return start === undefined ? undefined : `${pid} ${start}`
}

function linuxStartTime(pid: number): string | undefined {
  const stat = readProc(`${pid}/stat`)
  if (stat === undefined) return undefined
  // The second field is the program's name in brackets and may hold anything, so count from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // A zombie waits for a parent that may never look (a container's first process): it uses nothing any more.
  if (fields[0] === 'Z') return undefined
  // Ticks since the machine started: the same number means another process after the next start.
  return `${fields[19]} ${readProc('sys/kernel/random/boot_id')?.trim()}`
}

function psStartTime(pid: number): string | undefined {
  const line = ps('stat=,lstart=', pid)
  return line === undefined || line.startsWith('Z') ? undefined : line.replace(/^\S+\s+/, '')
}

function ps(columns: string, pid: number): string | undefined {
  const options = { env: { LC_ALL: 'C' }, timeout: 10_000, encoding: 'utf8' } as const
  try {
    return execFileSync('/bin/ps', ['-ww', '-o', columns, '-p', String(pid)], options).trim() || undefined
  } catch {
    return undefined
  }
}

/** Undefined when there is no such process, or one that this user may not look at. */
function readProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return undefined
  }
}

/** Whether the process with this pid lives; a zombie does not. */
export function isRunning(pid: number): boolean {
  return processIdentity(pid) !== undefined
}

function isAlive(identity: string): boolean {
  return identity !== '' && processIdentity(Number.parseInt(identity, 10)) === identity
}

function ownIdentity(): string {
  const identity = processIdentity(process.pid)
  if (identity === undefined) throw new Error('This system does not tell when a process was started.')
  return identity
}

/**
 * Runs `action` while no other call does so for the same folder, in this process or another one.
 * A killed process does not block the others; a call that waits for more than three minutes fails.
 */
export async function exclusively<T>(folder: string, action: () => Promise<T>): Promise<T> {
  const lock = await takeLock(folder)
  try {
    return await action()
  } finally {
    // An empty file means "free". It stays, so that the numbers keep growing.
    writeFileSync(lock, '')
  }
}

async function takeLock(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const draft = join(folder, `draft-${process.pid}-${randomUUID()}`)
  writeFileSync(draft, ownIdentity())
  const deadline = Date.now() + LOCK_WAIT_MS
  try {
    for (;;) {
      const lock = tryLock(folder, draft)
      if (lock !== undefined) return lock
      if (Date.now() > deadline)
        throw new Error(`Another process has held the lock in ${folder} for too long.`)
      await pause(20)
    }
  } finally {
    rmSync(draft)
  }
}

/**
 * The lock is the file with the highest number, and is held while the process named in it lives. A dead holder's file
 * is never removed to take over from it (of two waiters, the slower could remove the file of the faster): the next
 * number is taken instead, which only one of them can.
 */
function tryLock(folder: string, draft: string): string | undefined {
  const last = lockNumbers(folder).at(-1) ?? 0
  const holder = last === 0 ? '' : readIfThere(join(folder, String(last)))
  // A file that has just gone was followed by a higher one: not free either.
  if (holder === undefined || isAlive(holder)) return undefined
  const lock = join(folder, String(last + 1))
  try {
    // A link creates name and content at once, and fails when the name is taken.
    linkSync(draft, lock)
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return undefined
    throw error
  }
  const numbers = lockNumbers(folder)
  const older = numbers.filter((number) => number <= last)
  // Other processes may have locked, freed and cleaned past this number since the list was read.
  const late = numbers.some((number) => number > last + 1)
  for (const number of late ? [last + 1] : older) rmSync(join(folder, String(number)), { force: true })
  if (late) return undefined
  removeDeadDrafts(folder)
  return lock
}

function removeDeadDrafts(folder: string): void {
  for (const name of readdirSync(folder).filter((name) => name.startsWith('draft-'))) {
    if (!isRunning(Number(name.split('-')[1]))) rmSync(join(folder, name), { force: true })
  }
}

function lockNumbers(folder: string): number[] {
  const names = readdirSync(folder).filter((name) => /^\d+$/.test(name))
  return names.map(Number).sort((a, b) => a - b)
}

/** Notes that this process uses what the folder stands for; returns the note, a file to be removed at the end. */
export function addUser(folder: string): string {
  mkdirSync(folder, { recursive: true })
  const note = join(folder, `${process.pid}-${randomUUID()}`)
  writeFileSync(note, ownIdentity())
  return note
}

/** Counts the notes of living processes; removes those of dead ones. */
export function countUsers(folder: string): number {
  const notes = readdirSync(folder).map((name) => join(folder, name))
  const dead = notes.filter((note) => !isAlive(readIfThere(note) ?? ''))
  for (const note of dead) rmSync(note, { force: true })
  return notes.length - dead.length
}

/** The text of a file, undefined when there is no such file. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Whether this is an error of the system (or of the database) with this code. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
