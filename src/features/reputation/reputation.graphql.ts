import type { Suspension } from '../../generated/prisma/client.ts'
import type { ReputationLevel } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { CREATED_AT, idOf, timeWhen } from '../../graphql/common-fields.ts'
import { get } from '../../graphql/rest-route.ts'
import { type Levels, type MailCounts, rateOf, type Windows } from './reputation.rules.ts'
import { type Security, securityOf } from './reputation.ts'

const ReputationLevelRef = builder.enumType('ReputationLevel', {
  description: 'How a rate of bounces or complaints is judged.',
  values: {
    HEALTHY: { description: 'A rate below half of the limit, or of too little mail to say anything.' },
    WARNING: { description: 'A rate of half of the limit or more.' },
    CRITICAL: {
      description: 'A rate at the limit or above: the project is disabled, unless that is switched off.',
    },
  } satisfies Record<ReputationLevel, object>,
})

const ReputationLevelsRef = builder.objectRef<Levels>('ReputationLevels').implement({
  description:
    'The levels of the rates, from 100 messages, 10 bounces and 5 complaints on; of mail since the project was last enabled again.',
  fields: (t) => ({
    bounceSevenDays: t.expose('bounceSevenDays', {
      type: ReputationLevelRef,
      description: 'Level of the bounces of the last seven days (UTC), the limit of which is 10 percent.',
    }),
    bounceAllTime: t.expose('bounceAllTime', {
      type: ReputationLevelRef,
      description: 'Level of the bounces of all time, the limit of which is 8 percent.',
    }),
    complaintSevenDays: t.expose('complaintSevenDays', {
      type: ReputationLevelRef,
      description:
        'Level of the complaints of the last seven days (UTC), the limit of which is 0.15 percent.',
    }),
    complaintAllTime: t.expose('complaintAllTime', {
      type: ReputationLevelRef,
      description: 'Level of the complaints of all time, the limit of which is 0.12 percent.',
    }),
  }),
})

const ReputationRatesRef = builder.objectRef<MailCounts>('ReputationRates').implement({
  description: 'Mail of a time, with the rates of bounces and complaints.',
  fields: (t) => ({
    sent: t.exposeInt('sent', { description: 'Number of messages that were handed over.' }),
    bounced: t.exposeInt('bounced', { description: 'Number of messages that bounced for good.' }),
    complained: t.exposeInt('complained', { description: 'Number of messages that were reported as spam.' }),
    bounceRate: t.float({
      description: 'Bounces in percent of the messages that were sent.',
      resolve: ({ sent, bounced }) => rateOf(bounced, sent),
    }),
    complaintRate: t.float({
      description: 'Complaints in percent of the messages that were sent.',
      resolve: ({ sent, complained }) => rateOf(complained, sent),
    }),
  }),
})

const ReputationWindowsRef = builder.objectRef<Windows>('ReputationWindows').implement({
  description: 'Rates of the last days, and of all time.',
  fields: (t) => ({
    sevenDays: t.field({
      type: ReputationRatesRef,
      description: 'Mail of the last seven days (UTC), the present one included.',
      resolve: ({ sevenDays }) => sevenDays,
    }),
    allTime: t.field({
      type: ReputationRatesRef,
      description: 'All mail of the project that was counted; tests of campaigns are not.',
      resolve: ({ allTime }) => allTime,
    }),
  }),
})

const SuspensionRef = builder.objectRef<Suspension>('Suspension').implement({
  description: 'A time in which the project was disabled because of how its mail was received.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('suspension')),
    reason: t.exposeString('reason', { description: 'Why the project was disabled: EMAIL_REPUTATION.' }),
    details: t.field({
      type: 'JSON',
      description: 'The levels and the numbers that it was disabled for.',
      resolve: ({ details }) => details,
    }),
    createdAt: t.expose('createdAt', CREATED_AT),
    liftedAt: t.expose('liftedAt', timeWhen('the project was enabled again')),
  }),
})

const ProjectSecurityRef = builder.objectRef<Security>('ProjectSecurity').implement({
  description:
    'How the mail of a project is received, as far as it decides whether the project may go on sending.',
  fields: (t) => ({
    status: t.expose('status', { type: ReputationLevelRef, description: 'The worst one of the levels.' }),
    levels: t.field({
      type: ReputationLevelsRef,
      description: 'Levels of bounces and complaints.',
      resolve: ({ levels }) => levels,
    }),
    rates: t.field({
      type: ReputationWindowsRef,
      description: 'Rates of bounces and complaints.',
      resolve: ({ rates }) => rates,
    }),
    suspensions: t.field({
      type: [SuspensionRef],
      description:
        'The last times in which the project was disabled for its rates, the newest first, at most 20.',
      resolve: ({ suspensions }) => suspensions,
    }),
    isDisabled: t.exposeBoolean('isDisabled', {
      description: 'Whether the project is disabled, for whatever reason.',
    }),
  }),
})

builder.queryFields((t) => {
  const args = {
    id: t.arg.id({
      required: true,
      description: 'Id of the project, a UUID; one that is not the caller’s is 404.',
    }),
  }
  const common = { type: ProjectSecurityRef, projectArgument: 'id', args }
  return {
    projectSecurity: t.field({
      ...common,
      description: 'How the mail of the project is received: bounces, complaints, suspensions.',
      access: 'secretKey',
      rest: get('/projects/:id/security', 'Projects'),
      resolve: (_root, _args, ctx) => securityOf(ctx),
    }),
    ownProjectSecurity: t.field({
      ...common,
      description: 'The same for a signed-in user, whatever the header X-Project-Id says.',
      access: 'user',
      rest: get('/users/@me/projects/:id/security', 'Projects'),
      resolve: (_root, _args, ctx) => securityOf(ctx),
    }),
  }
})
