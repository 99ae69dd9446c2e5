import type { Service } from '../support/service.ts'
import type { Case } from './openapi-requests.ts'

type MakeCase = (service: Service) => Promise<Case> | Case

const REVERSED = (): Case => ({ query: '?startDate=2026-03-02&endDate=2026-03-01' })

/** Requests of the feed and the statistics that succeed, however often they are made. */
export const SUCCEEDING_ACTIVITY: Record<string, MakeCase> = {
  activity: async (service) => {
    await service.as(service.project.public).post('/v1/track', { email: 'ada@example.org', event: 'bought' })
    return { query: '?types=event.triggered&limit=1' }
  },
  activityStats: () => ({}),
  recentActivityCount: () => ({ query: '?minutes=10' }),
  activityTypes: () => ({}),
  upcomingActivity: () => ({}),
  mailTimeseries: () => ({ query: '?tz=Europe/Berlin' }),
  topCampaigns: () => ({ query: '?metric=clickRate' }),
  campaignOverview: () => ({}),
  topEvents: async (service) => {
    await service.as(service.project.public).post('/v1/track', { email: 'ada@example.org', event: 'bought' })
    return {}
  },
}

/** Requests that are answered with the codes that the routes name. */
export const FAILING_ACTIVITY: Record<string, MakeCase> = {
  'activity 400 BAD_REQUEST': REVERSED,
  'activityStats 400 BAD_REQUEST': REVERSED,
  'recentActivityCount 400 BAD_REQUEST': () => ({ query: '?minutes=0' }),
  'upcomingActivity 400 BAD_REQUEST': () => ({ query: '?limit=0' }),
  'mailTimeseries 400 BAD_REQUEST': REVERSED,
  'topCampaigns 400 BAD_REQUEST': REVERSED,
  'campaignOverview 400 BAD_REQUEST': REVERSED,
  'topEvents 400 BAD_REQUEST': REVERSED,
}
