import type { Tracking } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { CREATED_AT, idOf, timeWhen, UPDATED_AT } from '../../graphql/common-fields.ts'
import { defineEnum, inputArgument } from '../../graphql/inputs/zod-input.ts'
import { create, get, patch, post, remove } from '../../graphql/rest-route.ts'
import type { Language } from '../../lib/text/languages.ts'
import { RoleRef } from '../members/members.graphql.ts'
import type { ProjectKeys } from '../projects/projects.ts'
import { newProjectInput, updateProjectInput } from './own-projects.input.ts'
import {
  type CreatedProject,
  createOwnProject,
  deleteOwnProject,
  listOwnProjects,
  type OwnProject,
  ownProject,
  resetOwnProject,
  rotateOwnKeys,
  updateOwnProject,
} from './own-projects.ts'
import { type SetupState, setupState } from './setup-state.ts'

const TrackingRef = defineEnum<Tracking>('Tracking', {
  description: 'Messages whose opens and clicks are tracked.',
  values: {
    ENABLED: { description: 'Tracking in all messages.' },
    DISABLED: { description: 'Tracking in no message.' },
    MARKETING_ONLY: { description: 'Tracking in all messages but transactional ones.' },
  },
})

const LanguageRef = defineEnum<Language>('Language', {
  description: 'Language of footers and pages, by its BCP 47 subtag.',
  values: {
    en: { description: 'English, for contacts who have not said otherwise.' },
    de: { description: 'German, for contacts who have not said otherwise.' },
    fr: { description: 'French, for contacts who have not said otherwise.' },
    es: { description: 'Spanish, for contacts who have not said otherwise.' },
    nl: { description: 'Dutch, for contacts who have not said otherwise.' },
    pt: { description: 'Portuguese, for contacts who have not said otherwise.' },
  },
})

const ProjectRecordRef = builder.interfaceRef<OwnProject>('ProjectRecord').implement({
  description: 'What every answer tells of a project.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('project')),
    name: t.exposeString('name', { description: 'Name of the project, at most 100 characters.' }),
    public: t.exposeString('publicKey', {
      description: 'Public key (pk_…), which may only track events; it may be shown to anyone.',
    }),
    secretPreview: t.string({
      description: 'Beginning and end of the secret key, by which people recognise it.',
      resolve: ({ secretLastFour }) => `sk_…${secretLastFour}`,
    }),
    disabled: t.exposeBoolean('disabled', {
      description: 'Whether the project can only be read; its pending mail waits.',
    }),
    disabledReason: t.exposeString('disabledReason', {
      nullable: true,
      description:
        'Reason why the project is disabled: BEING_RESET ends by itself; null when the project is not disabled.',
    }),
    tracking: t.expose('tracking', {
      type: TrackingRef,
      description: 'Messages whose opens and clicks are tracked.',
    }),
    language: t.exposeString('language', {
      description: 'Language of footers and pages for contacts whose `locale` names none (BCP 47).',
    }),
    sendRatePerSecond: t.exposeInt('sendRatePerSecond', {
      nullable: true,
      description:
        'Messages that the project hands over per second; 0 is no limit, null the setting of the service.',
    }),
    footerText: t.exposeString('footerText', {
      nullable: true,
      description: 'Text that footers of marketing mail show besides; null without one.',
    }),
    role: t.expose('role', { type: RoleRef, description: 'Role of the asking user in the project.' }),
    createdAt: t.expose('createdAt', CREATED_AT),
    updatedAt: t.expose('updatedAt', UPDATED_AT),
  }),
})

const ProjectRef = builder.objectRef<OwnProject>('Project').implement({
  description: 'A project: what it is called, how it speaks to its contacts, and its public key.',
  interfaces: [ProjectRecordRef],
})

const CreatedProjectRef = builder.objectRef<CreatedProject>('CreatedProject').implement({
  description: 'A new project with its keys.',
  interfaces: [ProjectRecordRef],
  fields: (t) => ({
    secret: t.exposeString('secret', {
      description: 'Secret key (sk_…). It is shown this once; the service keeps only its hash.',
    }),
  }),
})

const ProjectKeysRef = builder.objectRef<ProjectKeys>('ProjectKeys').implement({
  description: 'The two keys of a project.',
  fields: (t) => ({
    public: t.exposeString('public', { description: 'New public key (pk_…).' }),
    secret: t.exposeString('secret', {
      description: 'New secret key (sk_…). It is shown this once; the service keeps only its hash.',
    }),
  }),
})

const ProjectResetRef = builder.objectRef<{ success: true }>('ProjectReset').implement({
  description: 'What came of a reset.',
  fields: (t) => ({
    success: t.exposeBoolean('success', {
      description:
        'Whether the contents are gone, or are being removed: true. Until all of them are gone, writes are refused with 503.',
    }),
  }),
})

const SetupStateRef = builder.objectRef<SetupState>('SetupState').implement({
  description: 'How far a project is set up.',
  fields: (t) => ({
    hasVerifiedDomain: t.exposeBoolean('hasVerifiedDomain', {
      description: 'Whether mail can be sent from some domain.',
    }),
    contactCount: t.exposeInt('contactCount', {
      description: 'Number of contacts: exact up to 10,000, above that at most a minute old.',
    }),
    hasSentEmail: t.exposeBoolean('hasSentEmail', { description: 'Whether any mail has left.' }),
    hasEnabledWorkflow: t.exposeBoolean('hasEnabledWorkflow', {
      description: 'Whether some workflow is enabled.',
    }),
    lastCampaignSentAt: t.expose('lastCampaignSentAt', timeWhen('the last campaign was completely sent')),
  }),
})

const PROJECT = {
  required: true,
  description: 'Id of the project, a UUID; one that is not yours is 404.',
} as const
const IN_PROJECT = { access: 'user', projectArgument: 'id' } as const
const BY_ADMINS = { ...IN_PROJECT, role: 'ADMIN' } as const

builder.queryField('projects', (t) =>
  t.field({
    description: 'The projects of the signed-in user, the newest first.',
    type: [ProjectRef],
    access: 'user',
    rest: get('/users/@me/projects', 'Projects'),
    resolve: (_root, _args, ctx) => listOwnProjects(ctx),
  }),
)

builder.queryField('project', (t) =>
  t.field({
    description: 'One project of the signed-in user.',
    type: ProjectRef,
    ...IN_PROJECT,
    args: { id: t.arg.id(PROJECT) },
    resolve: (_root, _args, ctx) => ownProject(ctx),
  }),
)

builder.mutationField('createProject', (t) =>
  t.field({
    description: 'Creates a project, whose owner the signed-in user is, and returns its keys this once.',
    type: CreatedProjectRef,
    access: 'user',
    rest: create('/users/@me/projects', 'Projects', { errors: ['CONFLICT'] }),
    args: { input: t.arg(inputArgument('CreateProjectInput', newProjectInput)) },
    resolve: (_root, { input }, ctx) => createOwnProject(ctx, input),
  }),
)

builder.mutationField('updateProject', (t) =>
  t.field({
    description: 'Changes the settings of a project.',
    type: ProjectRef,
    ...BY_ADMINS,
    rest: patch('/users/@me/projects/:id', 'Projects', { errors: ['FORBIDDEN'] }),
    args: {
      id: t.arg.id(PROJECT),
      input: t.arg(inputArgument('UpdateProjectInput', updateProjectInput, [TrackingRef, LanguageRef])),
    },
    resolve: (_root, { input }, ctx) => updateOwnProject(ctx, input),
  }),
)

builder.mutationField('deleteProject', (t) =>
  t.field({
    description:
      'Deletes a project with everything in it, for good. Its keys stop at once, and its domains are free; its contents are removed in the background.',
    type: 'Boolean',
    ...IN_PROJECT,
    role: 'OWNER',
    rest: remove('/users/@me/projects/:id', 'Projects', { errors: ['FORBIDDEN'] }),
    args: { id: t.arg.id(PROJECT) },
    resolve: async (_root, _args, ctx) => {
      await deleteOwnProject(ctx)
      return true
    },
  }),
)

builder.mutationField('regenerateKeys', (t) =>
  t.field({
    description:
      'Replaces both keys of a project and returns the new ones this once. The old ones stop at once; there is no overlap.',
    type: ProjectKeysRef,
    ...BY_ADMINS,
    rest: post('/users/@me/projects/:id/regenerate-keys', 'Projects', { errors: ['FORBIDDEN'] }),
    args: { id: t.arg.id(PROJECT) },
    resolve: (_root, _args, ctx) => rotateOwnKeys(ctx),
  }),
)

builder.mutationField('resetProject', (t) =>
  t.field({
    description:
      'Removes all contents of a project for good: contacts, events, mail, campaigns, segments, workflows, templates, webhooks and images. Domains, members, keys and settings stay. While a large project is emptied, its writes are refused with 503.',
    type: ProjectResetRef,
    ...BY_ADMINS,
    rest: post('/users/@me/projects/:id/reset', 'Projects', { errors: ['FORBIDDEN'] }),
    args: { id: t.arg.id(PROJECT) },
    resolve: async (_root, _args, ctx) => {
      await resetOwnProject(ctx)
      return { success: true as const }
    },
  }),
)

builder.queryField('setupState', (t) =>
  t.field({
    description: 'How far a project is set up, for a dashboard that guides newcomers.',
    type: SetupStateRef,
    access: 'secretKey',
    projectArgument: 'id',
    rest: get('/projects/:id/setup-state', 'Projects'),
    args: { id: t.arg.id(PROJECT) },
    resolve: (_root, _args, ctx) => setupState(ctx),
  }),
)
