import type { Service } from './service.ts'

type Keeper = {
  /** A service that a scenario has given back, or undefined. */
  take: () => Service | undefined
  /** Keeps a service for the next scenario; false when there is one already, or none follows. */
  keep: (service: Service) => boolean
  scenarioAnnounced: () => void
  scenarioEnded: () => Promise<void>
}

/** Keeps a service between the scenarios of a process, because its start takes longer than most of them, until the last one ends. */
function createKeeper(): Keeper {
  let kept: Service | undefined
  let left = 0
  const take = () => {
    const service = kept
    kept = undefined
    return service
  }
  return {
    take,
    keep: (service) => {
      if (kept || left <= 1) return false
      kept = service
      return true
    },
    scenarioAnnounced: () => {
      left += 1
    },
    scenarioEnded: async () => {
      left -= 1
      if (left === 0) await take()?.stop()
    },
  }
}

export const keptServices = createKeeper()
