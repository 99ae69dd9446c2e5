import { AudienceUsage } from '../../graphql/audience-usage.ts'
import { builder } from '../../graphql/builder.ts'
import { get, remove } from '../../graphql/rest-route.ts'
import { isJsonObject } from '../../lib/json.ts'
import { FIELD_TYPES } from '../contacts/contact-data.rules.ts'
import {
  type ContactField,
  type FieldUsage,
  type FieldValues,
  fieldUsage,
  listFields,
  listFieldValues,
} from './custom-fields.ts'
import { type DeletedField, deleteField } from './field-deletions.ts'

const ContactFieldType = builder.enumType('ContactFieldType', {
  description: 'What most values of a field are; a date is text such as 2026-03-04 or 2026-03-04T05:06:07Z.',
  values: FIELD_TYPES,
})

const ContactFieldRef = builder.objectRef<ContactField>('ContactField').implement({
  description: 'A field that contacts have.',
  fields: (t) => ({
    field: t.exposeString('field', { description: 'As filters name it; custom fields are `data.<key>`.' }),
    type: t.expose('type', { type: ContactFieldType }),
    coverage: t.exposeFloat('coverage', {
      description: 'Percentage of contacts that have it; of more than 5,000 contacts from a random sample.',
    }),
    standard: t.exposeBoolean('standard', { description: 'Every contact has it.' }),
  }),
})

const ContactFieldList = builder.objectRef<ContactField[]>('ContactFieldList').implement({
  description: 'Standard fields first, then custom ones by how many contacts have them.',
  fields: (t) => ({
    fields: t.field({ type: [ContactFieldRef], resolve: (fields) => fields }),
    count: t.int({ resolve: (fields) => fields.length }),
  }),
})

builder.queryField('contactFields', (t) =>
  t.field({
    description:
      'Standard and custom fields of contacts, with inferred types and how many contacts have them.',
    type: ContactFieldList,
    access: 'secretKey',
    rest: get('/contacts/fields', 'Contacts'),
    resolve: (_root, _args, ctx) => listFields(ctx),
  }),
)

const FieldValuesRef = builder.objectRef<FieldValues>('ContactFieldValues').implement({
  description: 'Distinct values of a custom field.',
  fields: (t) => ({
    field: t.exposeString('field'),
    values: t.field({
      type: ['JSON'],
      description: 'Text, numbers and booleans, the most frequent first.',
      resolve: ({ values }) => values,
    }),
    count: t.exposeInt('count', { description: 'How many values are listed.' }),
    limit: t.exposeInt('limit'),
  }),
})

const fieldArgument = { required: true, description: 'A custom field: `plan` or `data.plan`.' } as const

builder.queryField('contactFieldValues', (t) =>
  t.field({
    description:
      'Distinct values of a custom field; of more than 5,000 contacts those that a random sample of them has.',
    type: FieldValuesRef,
    access: 'secretKey',
    rest: get('/contacts/fields/:field/values', 'Contacts'),
    args: {
      field: t.arg.string(fieldArgument),
      limit: t.arg.int({ defaultValue: 100, description: 'At most 200; more is taken as that.' }),
      search: t.arg.string({ description: 'A part of the value, in any case.' }),
    },
    resolve: (_root, { field, ...request }, ctx) => listFieldValues(ctx, field, request),
  }),
)

const FieldUsageRef = builder.objectRef<FieldUsage>('ContactFieldUsage').implement({
  description: 'Where a custom field is used.',
  interfaces: [AudienceUsage],
  fields: (t) => ({
    contactCount: t.exposeInt('contactCount', {
      description: 'Contacts that have the field; above 10,000 an estimate from a sample.',
    }),
    canDelete: t.exposeBoolean('canDelete', { description: 'Nothing uses it.' }),
  }),
})

builder.queryField('contactFieldUsage', (t) =>
  t.field({
    description: 'Which segments, campaigns and workflows refer to a custom field.',
    type: FieldUsageRef,
    access: 'secretKey',
    rest: get('/contacts/fields/:field/usage', 'Contacts'),
    args: { field: t.arg.string(fieldArgument) },
    resolve: (_root, { field }, ctx) => fieldUsage(ctx, field),
  }),
)

const DeletedFieldRef = builder.objectRef<DeletedField>('DeletedContactField').implement({
  description: 'What came of the deletion of a field.',
  fields: (t) => ({
    deletedFrom: t.exposeInt('deletedFrom', {
      nullable: true,
      description: 'How many contacts had it; null while it is being taken from them.',
    }),
    status: t.exposeString('status', {
      nullable: true,
      description:
        '`running` when it takes longer than the request waits: it goes on, and the same request again waits for the rest.',
    }),
  }),
})

const isRunning = (data: unknown): boolean => isJsonObject(data) && data.status === 'running'

builder.mutationField('deleteContactField', (t) =>
  t.field({
    description:
      'Takes a custom field from all contacts that the project has, when nothing refers to it. Contacts made later keep it; what is written to the others meanwhile may go, too.',
    type: DeletedFieldRef,
    access: 'secretKey',
    rest: remove('/contacts/fields/:field', 'Contacts', {
      status: 200,
      otherStatus: { status: 202, applies: isRunning },
      omittedWhenNull: ['status'],
      errors: ['CONFLICT'],
    }),
    args: { field: t.arg.string(fieldArgument) },
    resolve: (_root, { field }, ctx) => deleteField(ctx, field),
  }),
)
