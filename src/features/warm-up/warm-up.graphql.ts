import { builder } from '../../graphql/builder.ts'
import { requiredId } from '../../graphql/common-fields.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { DomainRef } from '../domains/domains.graphql.ts'
import { warmUpInput } from './warm-up.input.ts'
import { setWarmUp, type WarmUp, warmUpOf } from './warm-up.ts'

const WarmUpRef = builder.objectRef<WarmUp>('WarmUp').implement({
  description:
    'Daily limits of mail from a new domain, by which receivers get to know it. They hold mail of campaigns and workflows back; transactional mail counts, and leaves in any case.',
  fields: (t) => ({
    from: t.exposeString('from', {
      nullable: true,
      description: 'The first day (UTC), such as 2027-01-31; null until the domain is verified.',
    }),
    dailyLimits: t.exposeIntList('dailyLimits', {
      description: 'Messages on the first, second, … day; after the last one nothing is limited.',
    }),
    day: t.exposeInt('day', {
      nullable: true,
      description: 'Which day of the warm-up today is, from 1 on; null before the first and after the last.',
    }),
    limitToday: t.exposeInt('limitToday', {
      nullable: true,
      description: 'Messages that may leave today; null when today is no day of the warm-up.',
    }),
    sentToday: t.exposeInt('sentToday', {
      description:
        'Messages that were handed over today, attempts that failed among them; 0 when today is no day of the warm-up.',
    }),
  }),
})

builder.prismaObjectField(DomainRef, 'warmUp', (t) =>
  t.field({
    description: 'Warm-up of the domain, as it stands today; null without one.',
    type: WarmUpRef,
    nullable: true,
    extensions: { relation: true },
    resolve: (domain, _args, ctx) => warmUpOf(ctx, domain),
  }),
)

builder.mutationField('setWarmUp', (t) =>
  t.field({
    description:
      'Sets, changes or ends the warm-up of a domain, and returns the domain. Mail that was put off by the one before is looked at again at once. At most 60 times a minute, with checks, new domains and new keys counted as well.',
    type: DomainRef,
    access: 'secretKey',
    role: 'ADMIN',
    args: {
      domainId: t.arg.id(requiredId('domain')),
      input: t.arg(inputArgument('WarmUpInput', warmUpInput)),
    },
    resolve: (_root, { domainId, input }, ctx) => setWarmUp(ctx, domainId, input),
  }),
)
