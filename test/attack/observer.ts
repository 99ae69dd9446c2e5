import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * Watches a service from a thread of its own, so that what attacks it does not slow the clock that judges it: its memory,
 * how long /health/live takes, and whether the mail of another, honest project is taken.
 */
export type Observed = {
  peakMemoryMb: number
  liveP99Ms: number
  liveFailed: number
  sends: number
  sendsFailed: number
  sendP95Ms: number
}

export type Watched = { url: string; pid: number; key: string; from: string }

const LIVE_EVERY_MS = 25
const SEND_EVERY_MS = 200
const MEMORY_EVERY_MS = 50
const TIMEOUT_MS = 10_000

const { url, pid, key, from }: Watched = workerData
const state = { done: false }
const live: number[] = []
const sends: number[] = []
const failed = { live: 0, sends: 0 }
let peakKb = 0

async function timed(times: number[], request: () => Promise<Response>): Promise<boolean> {
  const began = performance.now()
  try {
    const response = await request()
    await response.arrayBuffer()
    times.push(performance.now() - began)
    return response.status === 200
  } catch {
    // Refused, reset or too late: counted by the caller.
    times.push(performance.now() - began)
    return false
  }
}

async function repeat(everyMs: number, once: () => Promise<void> | void): Promise<void> {
  while (!state.done) {
    const began = performance.now()
    await once()
    await pause(Math.max(0, everyMs - (performance.now() - began)))
  }
}

const signal = () => AbortSignal.timeout(TIMEOUT_MS)

const watchLive = () =>
  repeat(LIVE_EVERY_MS, async () => {
    if (!(await timed(live, () => fetch(`${url}/health/live`, { signal: signal() })))) failed.live += 1
  })

const sendHonestly = () =>
  repeat(SEND_EVERY_MS, async () => {
    const body = JSON.stringify({ to: 'honest@example.org', from, subject: 'Hello', body: '<p>Hello</p>' })
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const send = () => fetch(`${url}/v1/send`, { method: 'POST', headers, body, signal: signal() })
    if (!(await timed(sends, send))) failed.sends += 1
  })

const watchMemory = () =>
  repeat(MEMORY_EVERY_MS, () => {
    peakKb = Math.max(peakKb, residentKb())
  })

/** 0 when the process has ended, and where there is no /proc. */
function residentKb(): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

function percentile(times: number[], part: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}

parentPort?.once('message', () => {
  state.done = true
})
await Promise.all([watchLive(), sendHonestly(), watchMemory()])
parentPort?.postMessage({
  peakMemoryMb: peakKb / 1024,
  liveP99Ms: percentile(live, 0.99),
  liveFailed: failed.live,
  sends: sends.length,
  sendsFailed: failed.sends,
  sendP95Ms: percentile(sends, 0.95),
} satisfies Observed)
