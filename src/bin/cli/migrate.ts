import type { Command } from 'commander'
import { loadConfig } from '../../config.ts'
import { migrate } from '../../db/migrations/migrate.ts'
import { startDatabaseServer } from '../../services.ts'
import { type Output, withJson } from './options.ts'
import { answer, whileRunning } from './run.ts'

export function addMigrateCommand(program: Command): void {
  withJson(
    program
      .command('migrate')
      .description(
        'Bring the database up to this version and print the migrations that were applied. The service does ' +
          'so by itself when it starts.',
      ),
  ).action((output: Output) =>
    answer(output, () =>
      whileRunning(
        () => startDatabaseServer(loadConfig()),
        async ({ url }) => {
          const { applied } = await migrate(url)
          const text =
            applied.length > 0 ? `Applied:\n  ${applied.join('\n  ')}` : 'The database is up to date.'
          return { json: { applied }, text }
        },
      ),
    ),
  )
}
