import type { Ctx } from '../../ctx.ts'
import { ALL_MAIL, currentTroubles } from './provider-troubles.sql.ts'

export type ProviderTrouble = {
  /** The sender domain whose mail waits; null: all mail does. */
  domain: string | null
  reason: string
  /** What to do about it. */
  advice: string
  since: Date
}

/** Whether anything keeps mail from leaving now. */
export async function hasTroubles(connections: { query: (text: string) => Promise<{ rows: unknown[] }> }) {
  return (await connections.query(currentTroubles.text)).rows.length > 0
}

/** Why mail does not leave at present, for whoever runs the service. */
export async function listTroubles({ sql }: Pick<Ctx, 'sql'>): Promise<ProviderTrouble[]> {
  const troubles = await sql(currentTroubles, {})
  return troubles.map(({ name, ...rest }) => ({ domain: name === ALL_MAIL ? null : name, ...rest }))
}
