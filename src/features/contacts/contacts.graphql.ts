import { builder } from '../../graphql/builder.ts'
import { CREATED_AT, idOf, requiredId, UPDATED_AT } from '../../graphql/common-fields.ts'
import { cursorArguments, cursorPageOf } from '../../graphql/cursor-page.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { create, get, patch, post, remove } from '../../graphql/rest-route.ts'
import { listContacts } from './contact-list.ts'
import { createContactInput, lookupContactsInput, updateContactInput } from './contacts.input.ts'
import {
  createContact,
  deleteContact,
  findContact,
  type Lookup,
  lookupContacts,
  type UpsertedContact as Upserted,
  updateContact,
} from './contacts.ts'

const EMAIL = { description: 'Address, trimmed and in lower case; unique in the project.' }
const SUBSCRIBED = {
  description: 'Whether mail of the types MARKETING and HEADLESS may be sent to the contact.',
}
const DATA = {
  type: 'JSONObject',
  description: 'Custom fields by name, at most 64 KB as JSON; also the variables of templates.',
} as const

export const ContactRef = builder.prismaObject('Contact', {
  description: 'A person whom mail is sent to.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('contact')),
    email: t.exposeString('email', EMAIL),
    subscribed: t.exposeBoolean('subscribed', SUBSCRIBED),
    data: t.field({ ...DATA, resolve: ({ data }) => data }),
    createdAt: t.expose('createdAt', CREATED_AT),
    updatedAt: t.expose('updatedAt', UPDATED_AT),
  }),
})

const UpsertMetaRef = builder.objectRef<{ isNew: boolean }>('UpsertMeta').implement({
  description: 'What an upsert did.',
  fields: (t) => ({
    isNew: t.exposeBoolean('isNew', { description: 'Whether the contact was created.' }),
    isUpdate: t.boolean({
      description: 'Whether the address was that of an existing contact, into which the input was merged.',
      resolve: ({ isNew }) => !isNew,
    }),
  }),
})

const UpsertedContactRef = builder.objectRef<Upserted>('UpsertedContact').implement({
  description: 'A contact that was created or updated.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('contact')),
    email: t.exposeString('email', EMAIL),
    subscribed: t.exposeBoolean('subscribed', SUBSCRIBED),
    data: t.field({ ...DATA, resolve: ({ data }) => data }),
    createdAt: t.expose('createdAt', CREATED_AT),
    updatedAt: t.expose('updatedAt', UPDATED_AT),
    _meta: t.field({
      type: UpsertMetaRef,
      description: 'Whether the contact was created or updated.',
      resolve: ({ outcome }) => ({ isNew: outcome === 'created' }),
    }),
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
    type: cursorPageOf('ContactPage', ContactRef),
    access: 'secretKey',
    rest: get('/contacts', 'Contacts', { graphqlOnly: ['filter'], errors: ['BAD_REQUEST'] }),
    args: {
      ...cursorArguments,
      search: t.arg.string({ description: 'Part of the address, in any case.' }),
      subscribed: t.arg.boolean({ description: 'State of the contacts to return; without it both.' }),
      filter: t.arg({
        type: 'JSONObject',
        description:
          'Filter tree, as the condition of a segment; only contacts for which it is true are returned.',
      }),
      sort: t.arg.string({
        description: 'Field to sort by: email or createdAt; anything else is taken as createdAt.',
      }),
      dir: t.arg.string({
        description: 'Direction of the order: asc or desc; anything else is taken as desc.',
      }),
    },
    resolve: (_root, request, ctx) => listContacts(ctx, request),
  }),
)

builder.queryField('contact', (t) =>
  t.field({
    description: 'One contact of the project, by its id or, in GraphQL, by its address.',
    type: ContactRef,
    access: 'secretKey',
    rest: get('/contacts/:id', 'Contacts', { graphqlOnly: ['email'], errors: ['CONTACT_NOT_FOUND'] }),
    args: {
      id: t.arg.id({
        description: 'Id of the contact, a UUID; in GraphQL either it or the address must be given.',
      }),
      email: t.arg.string({ description: 'Address of the contact, in any case; instead of the id.' }),
    },
    resolve: (_root, key, ctx) => findContact(ctx, key),
  }),
)

builder.mutationField('createContact', (t) =>
  t.field({
    description: 'Creates a contact, or merges the input into the existing one with the address.',
    type: UpsertedContactRef,
    access: 'secretKey',
    rest: create('/contacts', 'Contacts', {
      shortErrorFor: ['email'],
      otherStatus: { status: 200, applies: isUpdate },
    }),
    args: { input: t.arg(inputArgument('CreateContactInput', createContactInput)) },
    resolve: (_root, { input }, ctx) => createContact(ctx, input),
  }),
)

builder.mutationField('updateContact', (t) =>
  t.field({
    description: 'Changes the given fields of a contact.',
    type: ContactRef,
    access: 'secretKey',
    rest: patch('/contacts/:id', 'Contacts', { errors: ['CONTACT_NOT_FOUND', 'CONFLICT'] }),
    args: {
      id: t.arg.id(requiredId('contact')),
      input: t.arg(inputArgument('UpdateContactInput', updateContactInput)),
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
    args: { id: t.arg.id(requiredId('contact')) },
    resolve: async (_root, { id }, ctx) => {
      await deleteContact(ctx, id)
      return true
    },
  }),
)

const ContactLookupRef = builder.objectRef<Lookup>('ContactLookup').implement({
  description: 'Addresses of a lookup by whether they belong to contacts; each once, in lower case.',
  fields: (t) => ({
    found: t.exposeStringList('found', { description: 'Addresses that contacts of the project have.' }),
    notFound: t.exposeStringList('notFound', {
      description: 'Addresses that no contact of the project has.',
    }),
  }),
})

builder.queryField('lookupContacts', (t) =>
  t.field({
    description: 'Tells which addresses belong to contacts of the project.',
    type: ContactLookupRef,
    access: 'secretKey',
    rest: post('/contacts/lookup', 'Contacts', { shortErrorFor: 'anyField' }),
    args: { input: t.arg(inputArgument('LookupContactsInput', lookupContactsInput)) },
    resolve: (_root, { input }, ctx) => lookupContacts(ctx, input),
  }),
)
