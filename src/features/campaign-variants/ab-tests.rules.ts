/** The numbers that the hash of a campaign and a contact may have: 0 to one less. */
export const BUCKETS = 1_000_000

/** Up to which number, exclusively, the hash of a contact gives it each of the variants; from the last on it is not in the test. */
export function limitsOf(testPercent: number, weights: number[]): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const inTest = (BUCKETS * testPercent) / 100
  let before = 0
  return weights.map((weight) => {
    before += weight
    return Math.round((inTest * before) / total)
  })
}

/** What is known of a variant. */
export type VariantResult = {
  number: number
  sentCount: number
  bouncedCount: number
  openedCount: number
  clickedCount: number
}

type Metric = 'OPENS' | 'CLICKS'

/** Of the messages that can have reached somebody; 0 of nothing is 0. */
function shareOf({ sentCount, bouncedCount, ...result }: VariantResult, metric: Metric): number {
  const reached = sentCount - bouncedCount
  return reached > 0 ? (metric === 'OPENS' ? result.openedCount : result.clickedCount) / reached : 0
}

/**
 * The variant with the highest share of recipients who opened, or clicked. Between equal ones the other figure decides, then the
 * order in which they were given: so the first wins when nobody did anything.
 */
export function winnerOf<Variant extends VariantResult>(variants: Variant[], metric: Metric): Variant | null {
  const other = metric === 'OPENS' ? 'CLICKS' : 'OPENS'
  const [best] = variants.toSorted(
    (a, b) =>
      shareOf(b, metric) - shareOf(a, metric) || shareOf(b, other) - shareOf(a, other) || a.number - b.number,
  )
  return best ?? null
}
