import type { RecordStatus, StoredRecord } from './dns-records.rules.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** How long a verified domain stays so without its records. */
export const GRACE_MS = 72 * HOUR
/** How long mail that was signed with a key may be under way: servers try for some five days (RFC 5321, 4.5.4.1). */
export const KEY_OVERLAP_MS = 7 * DAY

/**
 * What a check says about all that a domain needs: there, missing, not to be told (DNS or the provider gave no answer), or
 * turned off by the provider.
 */
export type Verdict = 'present' | 'missing' | 'unknown' | 'disabled'

/** The worst wins; only what is certain counts as missing. */
export function worstOf(verdicts: Verdict[]): Verdict {
  return (['disabled', 'missing', 'unknown'] as const).find((one) => verdicts.includes(one)) ?? 'present'
}

/** `found` is null where there was no answer. */
export const verdictOf = ({ status, found }: StoredRecord): Verdict =>
  found === null || found === undefined ? 'unknown' : status === 'VERIFIED' ? 'present' : 'missing'

export type Verification = {
  status: RecordStatus
  vouched: boolean
  /** Since when its records are missing, while it is verified. */
  missingSince: Date | null
  verifiedAt: Date | null
}

/** The state after a check. A verified domain falls back only after GRACE_MS, and never because nobody answered. */
export function afterCheck(given: Verification, verdict: Verdict, now: Date): Verification {
  const { status, vouched, missingSince, verifiedAt } = given
  const before = { status, vouched, missingSince, verifiedAt }
  if (verdict === 'unknown') return before
  if (verdict === 'present') {
    return { vouched, status: 'VERIFIED', missingSince: null, verifiedAt: verifiedAt ?? now }
  }
  if (vouched) return before
  if (verdict === 'disabled') return { vouched, status: 'FAILED', missingSince: null, verifiedAt: null }
  if (status !== 'VERIFIED') return { vouched, status: 'PENDING', missingSince: null, verifiedAt: null }
  const since = missingSince ?? now
  if (now.getTime() - since.getTime() < GRACE_MS) return { ...before, missingSince: since }
  return { vouched, status: 'PENDING', missingSince: null, verifiedAt: null }
}

/**
 * When to look again: every 5 minutes while something is awaited, then hourly. `random` is between 0 and 1 and spreads domains
 * that were added together.
 */
export function nextCheckAt(isAwaited: boolean, now: Date, random: number): Date {
  const pause = isAwaited ? 5 * MINUTE : HOUR
  return new Date(now.getTime() + pause * (0.9 + random / 10))
}

/** The first day of the warm-up of a domain that is verified now; null when it has none. */
export const warmUpStart = (given: { warmUp: number[]; warmUpFrom: Date | null }, now: Date): Date | null =>
  given.warmUpFrom ?? (given.warmUp.length > 0 ? now : null)
