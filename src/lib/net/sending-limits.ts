import { z } from 'zod'
import { isDomain } from './domain-name.ts'

/** What a sender domain may send to a destination. `connections` is null for any number. */
export type DestinationLimit = { perSecond: number; connections: number | null }

const DESTINATION_LIMIT = /^([a-z0-9.-]+)=(\d{1,6}(?:\.\d{1,3})?)\/s(?::([1-9]\d{0,3}))?$/
/** Providers with all their domains, and each domain that is not named. */
const DESTINATIONS = ['gmail', 'outlook', 'yahoo', 'apple', 'other']

/** A destination with its limit, such as gmail=20/s:10. */
export const destinationLimit = z
  .string()
  .transform((text) => DESTINATION_LIMIT.exec(text.toLowerCase()) ?? [])
  .refine(
    ([, name = '', rate]) => (DESTINATIONS.includes(name) || isDomain(name)) && Number(rate) > 0,
    'must be a destination (gmail, outlook, yahoo, apple, other, or a domain), messages per second and, with a colon, connections at a time: gmail=20/s:10 or other=2/s',
  )
  .transform(([, name = '', rate, connections]): [string, DestinationLimit] => [
    name,
    { perSecond: Number(rate), connections: connections === undefined ? null : Number(connections) },
  ])

/** Days of a schedule at most. */
export const MAX_DAYS = 100
export const MOST_A_DAY = 10_000_000

/** The messages of one day of a schedule. */
export const dailyLimit = z
  .string()
  .regex(/^[1-9]\d{0,6}$/, 'must be messages of a day, the first day first, such as 50,100,500')
  .transform(Number)
