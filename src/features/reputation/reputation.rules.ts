/** How a rate is judged, as the database has it too. */
export type ReputationLevel = 'HEALTHY' | 'WARNING' | 'CRITICAL'

export type MailCounts = { sent: number; bounced: number; complained: number }

/** Rates in percent from which they are critical; a warning is given from half of them on. */
const CRITICAL = {
  sevenDays: { bounced: 10, complained: 0.15 },
  allTime: { bounced: 8, complained: 0.12 },
}
/** Below these numbers a rate says nothing. */
const LEAST = { sent: 100, bounced: 10, complained: 5 }

export type Levels = {
  bounceSevenDays: ReputationLevel
  bounceAllTime: ReputationLevel
  complaintSevenDays: ReputationLevel
  complaintAllTime: ReputationLevel
}

export type Windows = { sevenDays: MailCounts; allTime: MailCounts }

/** The levels of the rates of the last seven days and of all time. */
export const levelsOf = (counts: Windows): Levels => ({
  bounceSevenDays: levelOf(counts, 'sevenDays', 'bounced'),
  bounceAllTime: levelOf(counts, 'allTime', 'bounced'),
  complaintSevenDays: levelOf(counts, 'sevenDays', 'complained'),
  complaintAllTime: levelOf(counts, 'allTime', 'complained'),
})

function levelOf(counts: Windows, window: keyof Windows, what: 'bounced' | 'complained'): ReputationLevel {
  const { sent, [what]: count } = counts[window]
  if (sent < LEAST.sent || count < LEAST[what]) return 'HEALTHY'
  // In hundredths of percent, which are whole numbers.
  const share = count * 10_000
  const limit = Math.round(CRITICAL[window][what] * 100) * sent
  if (share >= limit) return 'CRITICAL'
  return share * 2 >= limit ? 'WARNING' : 'HEALTHY'
}

const ORDER: ReputationLevel[] = ['HEALTHY', 'WARNING', 'CRITICAL']

export const worstOf = (levels: Levels): ReputationLevel =>
  ORDER.findLast((level) => Object.values(levels).includes(level)) ?? 'HEALTHY'

/** Whether a level is worse than the one before. */
export const isWorse = (level: ReputationLevel, before: ReputationLevel): boolean =>
  ORDER.indexOf(level) > ORDER.indexOf(before)

/** What has happened since the counts `before`, which stand for a time that is settled. */
export function since(counts: Windows, before: MailCounts | null): Windows {
  const { sent = 0, bounced = 0, complained = 0 } = before ?? {}
  const allTime = {
    sent: Math.max(0, counts.allTime.sent - sent),
    bounced: Math.max(0, counts.allTime.bounced - bounced),
    complained: Math.max(0, counts.allTime.complained - complained),
  }
  const { sevenDays } = counts
  return {
    allTime,
    sevenDays: {
      sent: Math.min(sevenDays.sent, allTime.sent),
      bounced: Math.min(sevenDays.bounced, allTime.bounced),
      complained: Math.min(sevenDays.complained, allTime.complained),
    },
  }
}

/** In percent with three digits behind the point, since complaints are counted in hundredths; 0 of nothing is 0. */
export const rateOf = (part: number, whole: number): number =>
  whole === 0 ? 0 : Math.round((part / whole) * 100_000) / 1_000
