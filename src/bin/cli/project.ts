import type { Command } from 'commander'
import type { Services } from '../../ctx.ts'
import { badRequest } from '../../errors.ts'
import { changeSettings } from '../../features/projects/project-settings.ts'
import {
  createProjectInput,
  projectLanguageInput,
  projectTrackingInput,
} from '../../features/projects/projects.input.ts'
import {
  createProject,
  listProjects,
  type ProjectSummary,
  rotateKeys,
  setProjectDisabled,
} from '../../features/projects/projects.ts'
import type { Tracking } from '../../generated/prisma/enums.ts'
import { line } from '../../lib/fields.ts'
import { LANGUAGES, type Language } from '../../lib/text/languages.ts'
import { checked, checkedId, checkedLimit, type Output, withJson } from './options.ts'
import { fields, oneLine, table, time } from './output.ts'
import { type Answer, answerWithServices, serviceCtx } from './run.ts'

const MAX_LISTED = 10_000
const MAX_REASON = 500

const ONLY_NOW = 'The secret key is shown only now. Keep it where only your server can read it.'

export function addProjectCommands(program: Command): void {
  const project = program.command('project').description('Create projects, change their keys, disable them')
  addCreate(project)
  addList(project)
  addRotateKeys(project)
  addSet(project)
  addDisable(project)
  addEnable(project)
}

function addCreate(project: Command): void {
  withJson(
    project
      .command('create')
      .description('Create a project and print its keys; the secret key is never shown again')
      .requiredOption(
        '--name <name>',
        'what to call it, 1 to 100 characters',
        checked(createProjectInput.shape.name),
      ),
  ).action(({ name, ...output }: Output & { name: string }) =>
    answerWithServices(output, async (services) => {
      const { id, ...made } = await createProject(serviceCtx(services), { name })
      const values = fields({ id, public: made.public, secret: made.secret })
      return {
        json: { id, name: made.name, public: made.public, secret: made.secret },
        text: `The project "${oneLine(made.name)}" was created.\n\n${values}\n\n${ONLY_NOW}`,
      }
    }),
  )
}

function addList(project: Command): void {
  withJson(
    project
      .command('list')
      .description('List the projects, newest first')
      .option('--limit <number>', 'how many at most', checkedLimit(MAX_LISTED), 1_000),
  ).action(({ limit, ...output }: Output & { limit: number }) =>
    answerWithServices(output, async (services) => {
      const projects = await listProjects(serviceCtx(services), limit)
      return { json: projects, text: listed(projects, limit) }
    }),
  )
}

function listed(projects: ProjectSummary[], limit: number): string {
  if (projects.length === 0) return 'There is no project yet. "project create" creates one.'
  const rows = projects.map(({ id, name, disabled, createdAt }) => [
    id,
    disabled ? 'disabled' : 'active',
    time(createdAt),
    name,
  ])
  const text = table(['ID', 'STATE', 'CREATED', 'NAME'], rows)
  return projects.length < limit ? text : `${text}\n\nOnly the newest ${limit} are shown; --limit shows more.`
}

function addRotateKeys(project: Command): void {
  withJson(
    project
      .command('rotate-keys')
      .description('Replace both keys of a project and print the new ones; the old ones stop working at once')
      .requiredOption('--project <id>', 'the id of the project', checkedId),
  ).action(({ project: id, ...output }: Output & { project: string }) =>
    answerWithServices(output, async (services) => {
      const keys = await rotateKeys(serviceCtx(services), id)
      return {
        json: { public: keys.public, secret: keys.secret },
        text: `The old keys of the project ${id} do not work any more. The new ones:\n\n${fields(keys)}\n\n${ONLY_NOW}`,
      }
    }),
  )
}

/** The settings that the command line names. */
type Named = { language?: Language; tracking?: Tracking }

function addSet(project: Command): void {
  withJson(
    project
      .command('set')
      .description('Change settings of a project; what is not named stays as it is')
      .requiredOption('--project <id>', 'the id of the project', checkedId)
      .option(
        '--language <code>',
        `what footers and pages speak to contacts without a locale: ${LANGUAGES.join(', ')}`,
        checked(projectLanguageInput),
      )
      .option(
        '--tracking <mode>',
        'whether opens and clicks are tracked: enabled, disabled, marketing-only (all but transactional mail)',
        checked(projectTrackingInput),
      ),
  ).action(({ project: id, json = false, ...settings }: Output & { project: string } & Named) =>
    answerWithServices({ json }, async (services) => {
      const changed = Object.entries(settings)
      if (changed.length === 0) throw badRequest('Name a setting to change; --help lists them.')
      await changeSettings(serviceCtx(services), id, settings)
      const text = `The project ${id} was changed.\n\n${fields(Object.fromEntries(changed))}`
      return { json: { id, ...settings }, text }
    }),
  )
}

function addDisable(project: Command): void {
  withJson(
    project
      .command('disable')
      .description(
        'Disable a project: it can be read, but not changed or sent from, and its pending mail waits',
      )
      .requiredOption('--project <id>', 'the id of the project', checkedId)
      .requiredOption(
        '--reason <text>',
        `why; the API tells it to the callers, at most ${MAX_REASON} characters`,
        checked(line(MAX_REASON).trim().min(1)),
      ),
  ).action(({ project: id, reason, ...output }: Output & { project: string; reason: string }) =>
    answerWithServices(output, (services) => setDisabled(services, id, reason)),
  )
}

function addEnable(project: Command): void {
  withJson(
    project
      .command('enable')
      .description('Enable a project again; its pending mail goes out')
      .requiredOption('--project <id>', 'the id of the project', checkedId),
  ).action(({ project: id, ...output }: Output & { project: string }) =>
    answerWithServices(output, (services) => setDisabled(services, id, null)),
  )
}

async function setDisabled(services: Services, id: string, reason: string | null): Promise<Answer> {
  await setProjectDisabled(serviceCtx(services), id, reason)
  return {
    json: { id, disabled: reason !== null, disabledReason: reason },
    text: `The project ${id} is ${reason === null ? 'enabled.' : `disabled: ${oneLine(reason)}`}`,
  }
}
