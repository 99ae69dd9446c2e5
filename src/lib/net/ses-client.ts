import type { SESv2Client } from '@aws-sdk/client-sesv2'

/** As the configuration has it: a null endpoint is Amazon's own, null credentials are those that the SDK finds. */
export type SesConnection = {
  region: string
  endpoint: string | null
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string | undefined } | null
}

export type SesSdk = typeof import('@aws-sdk/client-sesv2')

/** A client that tries once, and how long (in milliseconds) it waits for a connection and for a silent server. */
export async function openSes(
  { region, endpoint, credentials }: SesConnection,
  limits: { connect: number; idle: number },
): Promise<{ sdk: SesSdk; client: SESv2Client }> {
  // It takes a tenth of a second and 40 MB, which a service without SES need not spend.
  const sdk = await import('@aws-sdk/client-sesv2')
  const client = new sdk.SESv2Client({
    region,
    ...(endpoint !== null && { endpoint }),
    ...(credentials !== null && {
      credentials: {
        accessKeyId: credentials.accessKeyId,
        secretAccessKey: credentials.secretAccessKey,
        ...(credentials.sessionToken !== undefined && { sessionToken: credentials.sessionToken }),
      },
    }),
    requestHandler: { connectionTimeout: limits.connect, socketTimeout: limits.idle },
    maxAttempts: 1,
  })
  return { sdk, client }
}
