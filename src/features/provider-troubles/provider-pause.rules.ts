const SECOND = 1_000
const MINUTE = 60 * SECOND

const PROVIDER_PAUSE = 5 * SECOND
const LONGEST_PROVIDER_PAUSE = 5 * MINUTE

/** How long no mail is handed over after the provider has refused to work `failures` times in a row. */
export const providerPause = (failures: number): number =>
  Math.min(LONGEST_PROVIDER_PAUSE, PROVIDER_PAUSE * 2 ** Math.min(failures - 1, 10))
