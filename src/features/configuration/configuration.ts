import type { Config } from '../../config.ts'

/** The facts that a dashboard needs before anyone has signed in. None of them is secret. */
export type PublicConfiguration = {
  environment: Config['environment']
  urls: { api: string; dashboard: string | null }
  features: {
    billing: { enabled: boolean }
    storage: { enabled: boolean; kind: 'local' | 's3' }
    authProviders: { github: boolean; google: boolean }
    signup: { disabled: boolean }
    smtp: { enabled: boolean; domain: string | null; ports: number[] }
  }
}

/** Billing, sign-up, sign-in through others and sending over SMTP are not in this version: nothing turns them on. */
export const publicConfiguration = (config: Config): PublicConfiguration => ({
  environment: config.environment,
  urls: { api: config.apiUrl, dashboard: config.dashboardUrl },
  features: {
    billing: { enabled: false },
    storage: { enabled: true, kind: config.storage.kind },
    authProviders: { github: false, google: false },
    signup: { disabled: true },
    smtp: { enabled: false, domain: null, ports: [] },
  },
})
