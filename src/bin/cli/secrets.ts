import type { Command } from 'commander'
import { resealSecrets } from '../../features/operations/stored-secrets.ts'
import { type Output, withJson } from './options.ts'
import { plural } from './output.ts'
import { answerWithServices, serviceCtx } from './run.ts'

export function addSecretsCommands(program: Command): void {
  const secrets = program.command('secrets').description('Look after the secrets that the database keeps')
  withJson(
    secrets
      .command('rotate')
      .description(
        'Encrypt stored secrets (DKIM keys, webhook secrets) with ENCRYPTION_SECRET that were encrypted with one of ' +
          'ENCRYPTION_SECRET_PREVIOUS. Can be run while the service runs, and again',
      ),
  ).action((output: Output) =>
    answerWithServices(output, async (services) => {
      const { resealed, current } = await resealSecrets(serviceCtx(services))
      const text =
        `${plural(resealed, 'secret')} encrypted anew, ${current} had the current key. Keep ENCRYPTION_SECRET_PREVIOUS as long as ` +
        'links in mail that was sent before are to work.'
      return { json: { resealed, current }, text }
    }),
  )
}
