import type { Command } from 'commander'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { badRequest, notFound } from '../../errors.ts'
import { checkDomain } from '../../features/domains/check-domain.ts'
import { type DnsRecord, readRecords } from '../../features/domains/dns-records.rules.ts'
import { addDomainInput } from '../../features/domains/domains.input.ts'
import { addDomain, forceVerified, listDomains, whereMailLeaves } from '../../features/domains/domains.ts'
import type { Domain } from '../../generated/prisma/client.ts'
import { asciiDomain } from '../../lib/net/domain-name.ts'
import { checked, checkedId, type Output, withJson } from './options.ts'
import { fields, table, time } from './output.ts'
import { type Answer, answerWithServices, projectCtx } from './run.ts'

type OfDomain = Output & { project: string; domain: string }

export function addDomainCommands(program: Command): void {
  const domain = program
    .command('domain')
    .description('Add the domains that mail comes from, and verify them')
  addAdd(domain)
  addList(domain)
  addVerify(domain)
}

const withProject = (command: Command): Command =>
  withJson(command.requiredOption('--project <id>', 'the id of the project', checkedId))

const withDomain = (command: Command): Command =>
  withProject(command).requiredOption(
    '--domain <name>',
    'the domain, such as example.com; each subdomain is added itself',
    checked(addDomainInput.shape.domain),
  )

function addAdd(domain: Command): void {
  withDomain(
    domain.command('add').description('Add a sender domain and print the DNS records to publish'),
  ).action(({ project, domain: name, ...output }: OfDomain) =>
    answerWithServices(output, async (services) => {
      const added = await addDomain(await projectCtx(services, project), { domain: name })
      return { json: view(added), text: addedText(added) }
    }),
  )
}

function addList(domain: Command): void {
  withProject(
    domain.command('list').description('List the sender domains of a project, newest first'),
  ).action(({ project, ...output }: Output & { project: string }) =>
    answerWithServices(output, async (services) => {
      const domains = (await listDomains(await projectCtx(services, project), project)).map(whereMailLeaves)
      const rows = domains.map((row) => [row.domain, row.status, row.verifiedAt ? time(row.verifiedAt) : '-'])
      return {
        json: domains.map(view),
        text:
          rows.length > 0 ? table(['DOMAIN', 'STATUS', 'VERIFIED'], rows) : 'The project has no domain yet.',
      }
    }),
  )
}

function addVerify(domain: Command): void {
  withDomain(
    domain
      .command('verify')
      .description(
        'Look at the DNS of a domain now, or with --force let it count as verified; then it is added when it is new',
      ),
  )
    .option('--force', 'without a look at DNS: you vouch for the domain')
    .action(({ project, domain: name, force, ...output }: OfDomain & { force?: boolean }) =>
      answerWithServices(output, async (services) => {
        const ctx = await projectCtx(services, project)
        if (!force) return checkedAnswer(await checkByName(ctx, name))
        const verified = await forceVerified(ctx, name)
        const text = `The domain ${verified.domain} counts as verified in the project ${project}.`
        return { json: view(verified), text }
      }),
    )
}

async function checkByName(ctx: Ctx, name: string): Promise<Domain> {
  if (ctx.config.mail.provider === 'mailbox') {
    throw badRequest(
      'This command line has no mail provider in its settings, so it does not know what the domain needs. Run it with those of ' +
        'the service (such as SMTP_URL), or with --force, which lets the domain count as verified without a look at DNS.',
    )
  }
  const domains = await listDomains(ctx, projectIdOf(ctx))
  const found = domains.find(({ domain }) => domain === asciiDomain(name))
  if (!found) throw notFound('The domain', 'DOMAIN_NOT_FOUND')
  return checkDomain(ctx, found)
}

function checkedAnswer(checked: Domain): Answer {
  const records = readRecords(checked.records)
  const rows = records.map(({ purpose, name, status, message }) => [purpose, status, name, message ?? '-'])
  return {
    json: view(checked),
    text: `The domain ${checked.domain} is ${checked.status}.\n\n${table(['PURPOSE', 'STATUS', 'NAME', 'MESSAGE'], rows)}`,
  }
}

/**
 * A domain as the API shows it where mail leaves, whatever mail settings this process has: the service may
 * have others. Its private key stays here.
 */
function view(domain: Domain) {
  const { id, projectId, domain: name, status, records, ...times } = whereMailLeaves(domain)
  const { lastCheckedAt, verifiedAt, createdAt, updatedAt } = times
  return {
    ...{ id, projectId, domain: name, status, verified: status === 'VERIFIED' },
    ...{ records: readRecords(records), lastCheckedAt, verifiedAt, createdAt, updatedAt },
  }
}

function addedText(domain: Domain): string {
  const state =
    'Mail can come from it once it is verified. A service that keeps mail in its mailbox does not wait for that.'
  const records = readRecords(domain.records).map(recordText)
  return [
    `The domain ${domain.domain} was added. ${state}`,
    'Its DNS records:',
    ...records,
    `Its id: ${domain.id}`,
  ].join('\n\n')
}

const recordText = ({ purpose, required, type, name, value, priority }: DnsRecord): string =>
  `${purpose}, ${required ? 'required' : 'recommended'}\n${fields({
    type,
    name,
    ...(priority !== null && { priority: String(priority) }),
    value,
  })}`
