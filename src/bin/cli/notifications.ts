import type { Command } from 'commander'
import { listUnmatched } from '../../features/notifications/unmatched-reports.ts'
import { checkedLimit, type Output, withJson } from './options.ts'
import { plural, table, time } from './output.ts'
import { answerWithServices, serviceCtx } from './run.ts'

const MAX_LISTED = 1_000

export function addNotificationsCommands(program: Command): void {
  const notifications = program
    .command('notifications')
    .description('Look into what providers report of mail')
  withJson(
    notifications
      .command('unmatched')
      .description('List reports of messages that this service does not know, the newest first')
      .option('--limit <number>', 'how many at most', checkedLimit(MAX_LISTED), 100),
  ).action(({ limit, ...output }: Output & { limit: number }) =>
    answerWithServices(output, async (services) => {
      const { total, reports } = await listUnmatched(serviceCtx(services), limit)
      const rows = reports.map(({ at, source, kind, recipient, emailId, providerMessageId, reason }) => [
        ...[time(at), source, kind, recipient ?? '', emailId ?? providerMessageId ?? '', reason ?? ''],
      ])
      const head = ['TIME', 'SOURCE', 'KIND', 'RECIPIENT', 'MESSAGE', 'REASON']
      const text = `${plural(total, 'report')} of unknown messages.`
      return { json: { total, reports }, text: rows.length > 0 ? `${text}\n\n${table(head, rows)}` : text }
    }),
  )
}
