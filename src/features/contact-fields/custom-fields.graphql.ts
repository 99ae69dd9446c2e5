import { AudienceUsageRef } from '../../graphql/audience-usage.ts'
import { builder } from '../../graphql/builder.ts'
import { get, remove } from '../../graphql/rest-route.ts'
import { isJsonObject } from '../../lib/json.ts'
import type { FieldType } from '../contacts/contact-data.rules.ts'
import {
  type ContactField,
  type FieldUsage,
  type FieldValues,
  fieldUsage,
  listFields,
  listFieldValues,
} from './custom-fields.ts'
import { type DeletedField, deleteField } from './field-deletions.ts'

const ContactFieldTypeRef = builder.enumType('ContactFieldType', {
  description: 'Type that most values of a field have.',
  values: {
    string: { description: 'Text that is not a date.' },
    number: { description: 'A number, whole or not.' },
    boolean: { description: 'Either true or false.' },
    date: { description: 'Text that is a date, such as 2026-03-04 or 2026-03-04T05:06:07Z.' },
    object: { description: 'A JSON object; filters reach into it by a path, as in data.address.city.' },
    array: { description: 'A list of any JSON values.' },
  } satisfies Record<FieldType, object>,
})

const ContactFieldRef = builder.objectRef<ContactField>('ContactField').implement({
  description: 'A field that contacts of the project have.',
  fields: (t) => ({
    field: t.exposeString('field', {
      description: 'Name as filters use it; custom fields are `data.<key>`.',
    }),
    type: t.expose('type', {
      type: ContactFieldTypeRef,
      description: 'Type of most values of the field, found by looking at them.',
    }),
    coverage: t.exposeFloat('coverage', {
      description:
        'Percentage of contacts that have the field, 0 to 100. Exact and of this moment up to 5,000 contacts; of more ' +
        'from a random sample, counted every hour.',
    }),
    standard: t.exposeBoolean('standard', {
      description: 'Whether every contact has the field by itself; false for custom fields.',
    }),
  }),
})

const ContactFieldListRef = builder.objectRef<ContactField[]>('ContactFieldList').implement({
  description:
    'Fields of contacts: the standard ones first, then custom ones by how many contacts have them.',
  fields: (t) => ({
    fields: t.field({
      type: [ContactFieldRef],
      description: 'Standard fields and at most 1,000 custom ones.',
      resolve: (fields) => fields,
    }),
    count: t.int({ description: 'Number of fields listed.', resolve: (fields) => fields.length }),
  }),
})

builder.queryField('contactFields', (t) =>
  t.field({
    description:
      'Standard and custom fields of contacts, with inferred types and how many contacts have them.',
    type: ContactFieldListRef,
    access: 'secretKey',
    rest: get('/contacts/fields', 'Contacts'),
    resolve: (_root, _args, ctx) => listFields(ctx),
  }),
)

const ContactFieldValuesRef = builder.objectRef<FieldValues>('ContactFieldValues').implement({
  description: 'Values of a custom field.',
  fields: (t) => ({
    field: t.exposeString('field', { description: 'Name of the field as the request gave it.' }),
    values: t.field({
      type: ['JSON'],
      description: 'Values that are text, numbers or booleans, each once, the most frequent first.',
      resolve: ({ values }) => values,
    }),
    count: t.exposeInt('count', { description: 'Number of values listed.' }),
    limit: t.exposeInt('limit', { description: 'Number of values that could be listed, at most 200.' }),
  }),
})

const FIELD_ARGUMENT = {
  required: true,
  description: 'Name of a custom field: `plan` or `data.plan`.',
} as const

builder.queryField('contactFieldValues', (t) =>
  t.field({
    description:
      'Distinct values of a custom field; with more than 5,000 contacts the values in a random sample of them.',
    type: ContactFieldValuesRef,
    access: 'secretKey',
    rest: get('/contacts/fields/:field/values', 'Contacts'),
    args: {
      field: t.arg.string(FIELD_ARGUMENT),
      limit: t.arg.int({
        defaultValue: 100,
        description: 'Number of values to list, 1 to 200; more is taken as 200.',
      }),
      search: t.arg.string({ description: 'Part of the value, in any case; without it all values.' }),
    },
    resolve: (_root, { field, ...request }, ctx) => listFieldValues(ctx, field, request),
  }),
)

const ContactFieldUsageRef = builder.objectRef<FieldUsage>('ContactFieldUsage').implement({
  description: 'Everything that refers to a custom field.',
  interfaces: [AudienceUsageRef],
  fields: (t) => ({
    contactCount: t.exposeInt('contactCount', {
      description: 'Number of contacts that have the field; above 10,000 an estimate from a sample.',
    }),
    canDelete: t.exposeBoolean('canDelete', {
      description: 'Whether the field can be deleted: it is a custom one and nothing refers to it.',
    }),
  }),
})

builder.queryField('contactFieldUsage', (t) =>
  t.field({
    description: 'The segments, campaigns and workflows that refer to a custom field.',
    type: ContactFieldUsageRef,
    access: 'secretKey',
    rest: get('/contacts/fields/:field/usage', 'Contacts'),
    args: { field: t.arg.string(FIELD_ARGUMENT) },
    resolve: (_root, { field }, ctx) => fieldUsage(ctx, field),
  }),
)

const DeletedContactFieldRef = builder.objectRef<DeletedField>('DeletedContactField').implement({
  description: 'Outcome of the deletion of a field.',
  fields: (t) => ({
    deletedFrom: t.exposeInt('deletedFrom', {
      nullable: true,
      description: 'Number of contacts that the field was deleted from; null while it is being deleted.',
    }),
    status: t.exposeString('status', {
      nullable: true,
      description:
        'The word `running` when the deletion takes longer than the request waits: it goes on, and the same request again waits for the rest. Null, and absent over REST, when it is done.',
    }),
  }),
})

const isRunning = (data: unknown): boolean => isJsonObject(data) && data.status === 'running'

builder.mutationField('deleteContactField', (t) =>
  t.field({
    description:
      'Deletes a custom field from all existing contacts, when nothing refers to it. Contacts created later keep it; values written to the others meanwhile may be deleted, too.',
    type: DeletedContactFieldRef,
    access: 'secretKey',
    rest: remove('/contacts/fields/:field', 'Contacts', {
      status: 200,
      otherStatus: { status: 202, applies: isRunning },
      omittedWhenNull: ['status'],
      errors: ['CONFLICT'],
    }),
    args: { field: t.arg.string(FIELD_ARGUMENT) },
    resolve: (_root, { field }, ctx) => deleteField(ctx, field),
  }),
)
