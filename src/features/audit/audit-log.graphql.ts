import type { AuditActor } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { CREATED_AT, idOf, idOfOther } from '../../graphql/common-fields.ts'
import { cursorArguments, cursorPageOf } from '../../graphql/cursor-page.ts'
import { defineEnum } from '../../graphql/inputs/zod-input.ts'
import { listChanges } from './audit-log.ts'

const AuditActorRef = defineEnum<AuditActor>('AuditActor', {
  description: 'Kind of caller that has changed something.',
  values: {
    USER: { description: 'A signed-in user.' },
    KEY: { description: 'Somebody with a key of the project.' },
    SYSTEM: { description: 'The service itself, or its operator on the command line.' },
  },
})

const AuditEntryRef = builder.prismaObject('AuditEntry', {
  description: 'A change of what a project is: its settings, keys, members, domains, webhooks or billing.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('entry')),
    actorKind: t.expose('actorKind', { type: AuditActorRef, description: 'Kind of who has changed it.' }),
    userId: t.exposeID('userId', {
      nullable: true,
      ...idOfOther('the user, whose account may be gone since', 'when it was no user'),
    }),
    actor: t.exposeString('actor', {
      description: 'Address of the user, last four characters of the key, `cli` or `service`.',
    }),
    action: t.exposeString('action', {
      description: 'What was changed and how, such as `member.remove` or `domain.add`.',
    }),
    target: t.exposeString('target', {
      nullable: true,
      description: 'Which one was changed: an address, a name or an id; null when there is one only.',
    }),
    changes: t.expose('changes', {
      type: 'JSON',
      description: 'Fields that were changed with their new values, without secrets.',
    }),
    createdAt: t.expose('createdAt', CREATED_AT),
  }),
})

builder.queryField('auditLog', (t) =>
  t.field({
    description:
      'Who has changed what of a project, the newest first; entries are kept for a year. Changes of its contents are not in it.',
    type: cursorPageOf('AuditEntryPage', AuditEntryRef),
    access: 'user',
    role: 'ADMIN',
    projectArgument: 'projectId',
    args: {
      projectId: t.arg.id({
        required: true,
        description: 'Id of the project, a UUID; one that is not yours is 404.',
      }),
      ...cursorArguments,
    },
    resolve: (_root, args, ctx) => listChanges(ctx, args),
  }),
)
