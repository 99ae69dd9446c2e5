import type { Command } from 'commander'
import { signupInput } from '../../features/auth/auth.input.ts'
import {
  createVerifiedUser,
  listUsers,
  resetPasswordOf,
  type UserSummary,
} from '../../features/users/manage-users.ts'
import { checked, checkedLimit, type Output, withJson } from './options.ts'
import { fields, table, time } from './output.ts'
import { answerWithServices, serviceCtx } from './run.ts'

const MAX_LISTED = 10_000

type Account = Output & { email: string; password: string }

export function addUserCommands(program: Command): void {
  const user = program.command('user').description('Create users, list them, set their passwords')
  withAccount(
    user
      .command('create')
      .description('Create a user, whose address counts as verified, also with DISABLE_SIGNUPS'),
  ).action(({ email, password, ...output }: Account) =>
    answerWithServices(output, async (services) => {
      const { id } = await createVerifiedUser(serviceCtx(services), email, password)
      return { json: { id, email }, text: `The user was created.\n\n${fields({ id, email })}` }
    }),
  )
  withAccount(
    user
      .command('reset-password')
      .description('Set the password of a user, which ends all sessions and removes the second factor'),
  ).action(({ email, password, ...output }: Account) =>
    answerWithServices(output, async (services) => {
      const { id } = await resetPasswordOf(serviceCtx(services), email, password)
      return { json: { id, email }, text: `${email} has to sign in with the new password.` }
    }),
  )
  withJson(
    user
      .command('list')
      .description('List the users, newest first')
      .option('--limit <number>', 'how many at most', checkedLimit(MAX_LISTED), 1_000),
  ).action(({ limit, ...output }: Output & { limit: number }) =>
    answerWithServices(output, async (services) => {
      const users = await listUsers(serviceCtx(services), limit)
      return { json: users, text: listed(users) }
    }),
  )
}

const withAccount = (command: Command): Command =>
  withJson(
    command
      .requiredOption('--email <address>', 'the address of the account', checked(signupInput.shape.email))
      .requiredOption('--password <text>', 'at least 8 characters', checked(signupInput.shape.password)),
  )

function listed(users: UserSummary[]): string {
  if (users.length === 0) return 'There is no user yet. "user create" creates one.'
  const rows = users.map(({ id, email, emailVerified, createdAt }) => [
    id,
    emailVerified ? 'verified' : 'unverified',
    time(createdAt),
    email,
  ])
  return table(['ID', 'ADDRESS IS', 'CREATED', 'EMAIL'], rows)
}
