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

export const publicConfiguration = (config: Config): PublicConfiguration => ({
  environment: config.environment,
  urls: { api: config.apiUrl, dashboard: config.dashboardUrl },
  features: {
    billing: { enabled: config.billing !== null },
    storage: { enabled: true, kind: config.storage.kind },
    authProviders: { github: config.oauth.github !== null, google: config.oauth.google !== null },
    signup: { disabled: config.signupsDisabled },
    smtp: smtpOf(config),
  },
})

function smtpOf({ smtpDoor }: Config): PublicConfiguration['features']['smtp'] {
  const { submission = null, tls = null } = smtpDoor?.ports ?? {}
  const ports = [submission, tls].filter((port) => port !== null)
  return ports.length > 0 && smtpDoor
    ? { enabled: true, domain: smtpDoor.domain, ports }
    : { enabled: false, domain: null, ports: [] }
}
