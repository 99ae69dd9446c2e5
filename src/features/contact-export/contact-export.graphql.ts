import { builder } from '../../graphql/builder.ts'
import { requiredId } from '../../graphql/common-fields.ts'
import { type ExportPiece, exportContact } from './contact-export.ts'

const ContactExportRef = builder.objectRef<ExportPiece>('ContactExport').implement({
  description: 'A piece of what is kept of a contact.',
  fields: (t) => ({
    section: t.exposeString('section', {
      description:
        'Kind of the records: contact, suppression, segments, events, emails, campaigns, workflows or webhookCalls; end when nothing is left.',
    }),
    records: t.field({
      type: ['JSON'],
      description:
        'Records of that kind with all that is kept, the oldest first; messages with their content.',
      resolve: ({ records }) => records.map((record) => JSON.parse(JSON.stringify(record))),
    }),
    cursor: t.exposeString('cursor', {
      nullable: true,
      description: 'Opaque text that the next piece is asked for with; null at the end.',
    }),
  }),
})

builder.queryField('exportContact', (t) =>
  t.field({
    description:
      'Everything that is kept of one contact, piece by piece, to hand it to the person (GDPR, article 15). Deleting the contact removes it.',
    type: ContactExportRef,
    access: 'secretKey',
    args: {
      id: t.arg.id(requiredId('contact')),
      cursor: t.arg.string({ description: 'Cursor of the piece before; without it the first piece.' }),
    },
    resolve: (_root, args, ctx) => exportContact(ctx, args),
  }),
)
