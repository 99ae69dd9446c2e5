import { builder } from '../../graphql/builder.ts'
import { cursorArguments, cursorPageOf } from '../../graphql/cursor-page.ts'
import { inputFromZod } from '../../graphql/inputs/zod-input.ts'
import { create, get, patch, post, remove } from '../../graphql/rest-route.ts'
import { listContacts } from './contact-list.ts'
import {
  createContact,
  createContactInput,
  deleteContact,
  findContact,
  type Lookup,
  lookupContacts,
  lookupContactsInput,
  type UpsertedContact as Upserted,
  updateContact,
  updateContactInput,
} from './contacts.ts'

export const Contact = builder.prismaObject('Contact', {
  description: 'A person whom mail is sent to.',
  fields: (t) => ({
    id: t.exposeID('id'),
    email: t.exposeString('email', { description: 'Trimmed and in lower case; unique in the project.' }),
    subscribed: t.exposeBoolean('subscribed', { description: 'Whether marketing mail may be sent.' }),
    data: t.field({
      type: 'JSONObject',
      description: 'Custom fields; also the variables of templates.',
      resolve: ({ data }) => data,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
})

const UpsertMeta = builder.objectRef<{ isNew: boolean }>('UpsertMeta').implement({
  description: 'What was done.',
  fields: (t) => ({
    isNew: t.exposeBoolean('isNew', { description: 'The contact was made.' }),
    isUpdate: t.boolean({
      description: 'There was a contact with this address; the input was merged into it.',
      resolve: ({ isNew }) => !isNew,
    }),
  }),
})

const UpsertedContact = builder.objectRef<Upserted>('UpsertedContact').implement({
  description: 'A contact that was made or updated.',
  fields: (t) => ({
    id: t.exposeID('id'),
    email: t.exposeString('email'),
    subscribed: t.exposeBoolean('subscribed'),
    data: t.field({ type: 'JSONObject', resolve: ({ data }) => data }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    _meta: t.field({ type: UpsertMeta, resolve: ({ outcome }) => ({ isNew: outcome === 'created' }) }),
  }),
})

const isUpdate = (data: unknown): boolean =>
  typeof data === 'object' &&
  data !== null &&
  '_meta' in data &&
  typeof data._meta === 'object' &&
  data._meta !== null &&
  'isUpdate' in data._meta &&
  data._meta.isUpdate === true

builder.queryField('contacts', (t) =>
  t.field({
    description: 'The contacts of the project, newest first unless told otherwise.',
    type: cursorPageOf('ContactPage', Contact),
    access: 'secretKey',
    rest: get('/contacts', 'Contacts', { graphqlOnly: ['filter'], errors: ['BAD_REQUEST'] }),
    args: {
      ...cursorArguments,
      search: t.arg.string({ description: 'A part of the address, in any case.' }),
      subscribed: t.arg.boolean({ description: 'Without it contacts of both states.' }),
      filter: t.arg({ type: 'JSONObject', description: 'A filter tree, as a segment has it.' }),
      sort: t.arg.string({ description: 'email or createdAt; anything else is taken as createdAt.' }),
      dir: t.arg.string({ description: 'asc or desc; anything else is taken as desc.' }),
    },
    resolve: (_root, request, ctx) => listContacts(ctx, request),
  }),
)

builder.queryField('contact', (t) =>
  t.field({
    description: 'One contact of the project, by its id or, in GraphQL, by its address.',
    type: Contact,
    access: 'secretKey',
    rest: get('/contacts/:id', 'Contacts', { graphqlOnly: ['email'], errors: ['CONTACT_NOT_FOUND'] }),
    args: { id: t.arg.id(), email: t.arg.string() },
    resolve: (_root, key, ctx) => findContact(ctx, key),
  }),
)

builder.mutationField('createContact', (t) =>
  t.field({
    description: 'Makes a contact, or merges into the one that has the address.',
    type: UpsertedContact,
    access: 'secretKey',
    rest: create('/contacts', 'Contacts', {
      shortErrorFor: ['email'],
      otherStatus: { status: 200, applies: isUpdate },
    }),
    args: { input: t.arg({ type: inputFromZod('CreateContactInput', createContactInput), required: true }) },
    resolve: (_root, { input }, ctx) => createContact(ctx, input),
  }),
)

builder.mutationField('updateContact', (t) =>
  t.field({
    description: 'Changes a contact.',
    type: Contact,
    access: 'secretKey',
    rest: patch('/contacts/:id', 'Contacts', { errors: ['CONTACT_NOT_FOUND', 'CONFLICT'] }),
    args: {
      id: t.arg.id({ required: true }),
      input: t.arg({ type: inputFromZod('UpdateContactInput', updateContactInput), required: true }),
    },
    resolve: (_root, { id, input }, ctx) => updateContact(ctx, id, input),
  }),
)

builder.mutationField('deleteContact', (t) =>
  t.field({
    description:
      'Deletes a contact for good, with its mail, also mail that still waits, its events and its memberships.',
    type: 'Boolean',
    access: 'secretKey',
    rest: remove('/contacts/:id', 'Contacts', { errors: ['CONTACT_NOT_FOUND'] }),
    args: { id: t.arg.id({ required: true }) },
    resolve: async (_root, { id }, ctx) => {
      await deleteContact(ctx, id)
      return true
    },
  }),
)

const ContactLookup = builder.objectRef<Lookup>('ContactLookup').implement({
  description: 'Which of the addresses asked for belong to contacts; each once, in lower case.',
  fields: (t) => ({ found: t.exposeStringList('found'), notFound: t.exposeStringList('notFound') }),
})

builder.queryField('lookupContacts', (t) =>
  t.field({
    description: 'Tells which addresses belong to contacts of the project.',
    type: ContactLookup,
    access: 'secretKey',
    rest: post('/contacts/lookup', 'Contacts', { shortErrorFor: 'anyField' }),
    args: {
      input: t.arg({ type: inputFromZod('LookupContactsInput', lookupContactsInput), required: true }),
    },
    resolve: (_root, { input }, ctx) => lookupContacts(ctx, input),
  }),
)
