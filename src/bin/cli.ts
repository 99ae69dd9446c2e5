import { Command } from 'commander'
import { addDomainCommands } from './cli/domain.ts'
import { addJobsCommands } from './cli/jobs.ts'
import { addMigrateCommand } from './cli/migrate.ts'
import { addNotificationsCommands } from './cli/notifications.ts'
import { oneLine } from './cli/output.ts'
import { addProjectCommands } from './cli/project.ts'
import { addSecretsCommands } from './cli/secrets.ts'
import { addUserCommands } from './cli/user.ts'

const PROGRAM = 'npm run -s cli --'

const program = new Command(PROGRAM)
  .description(
    'Looks after a Mailwright installation. Works on the database of DATABASE_URL, or on the embedded one ' +
      'under DATA_DIR, whether the service runs or not.',
  )
  .configureOutput({ outputError: (text, write) => write(`${oneLine(text)}\n`) })
  .addHelpText(
    'after',
    `
Every command takes --json: one JSON document on one line of standard output, nothing else there.
Exit code 0: done; 1: not done, and standard error says why.

Examples:
  ${PROGRAM} project create --name "My shop"
  ${PROGRAM} user create --email ada@example.com --password "correct horse"
  ${PROGRAM} domain add --project ID --domain example.com
  ${PROGRAM} jobs dead
  ${PROGRAM} jobs redrive --help`,
  )

addProjectCommands(program)
addUserCommands(program)
addDomainCommands(program)
addMigrateCommand(program)
addJobsCommands(program)
addSecretsCommands(program)
addNotificationsCommands(program)

// A reader that has seen enough, such as head, is no reason to complain.
process.stdout.on('error', () => {
  process.exitCode = 1
})

await program.parseAsync()
