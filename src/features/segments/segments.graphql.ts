import type { SegmentType as TypeValue } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { defineEnum, inputFromZod } from '../../graphql/inputs/zod-input.ts'
import { offsetPageOf, pageArguments } from '../../graphql/offset-page.ts'
import { create, get, patch, post, remove } from '../../graphql/rest-route.ts'
import { isJsonObject } from '../../lib/json.ts'
import { Contact } from '../contacts/contacts.graphql.ts'
import { type ComputeResult, computeSegment } from './compute-segment.ts'
import { getSegment, listSegments } from './find-segment.ts'
import { type RefreshResult, refreshSegment } from './member-count.ts'
import {
  type AddedMembers,
  addMembersInput,
  addSegmentMembers,
  listSegmentMembers,
  type RemovedMembers,
  removeMembersInput,
  removeSegmentMembers,
} from './segment-members.ts'
import {
  createSegment,
  createSegmentInput,
  deleteSegment,
  updateSegment,
  updateSegmentInput,
} from './segments.ts'

const SegmentType = defineEnum<TypeValue>('SegmentType', {
  description: 'How a segment gets its members.',
  values: {
    DYNAMIC: { description: 'Whoever its condition is true for.' },
    STATIC: { description: 'A list that is kept by hand.' },
  },
})

export const Segment = builder.prismaObject('Segment', {
  description: 'A part of the contacts.',
  fields: (t) => ({
    id: t.exposeID('id'),
    projectId: t.exposeID('projectId'),
    name: t.exposeString('name'),
    slug: t.exposeString('slug', {
      description: 'Made from the name at creation; part of the names of entry and exit events.',
    }),
    description: t.exposeString('description', { nullable: true }),
    type: t.expose('type', { type: SegmentType }),
    condition: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The filter tree of a DYNAMIC segment.',
      resolve: ({ condition }) => condition,
    }),
    trackMembership: t.exposeBoolean('trackMembership', {
      description:
        'Entries and exits are recorded as the events segment.<slug>.entry and segment.<slug>.exit.',
    }),
    memberCount: t.exposeInt('memberCount', { description: 'As it was last counted.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
})

const TAG = 'Segments'
const RUNNING =
  '`completed`, or `running` (202) when it goes on in the background: the other fields are null then.'
const ACCEPTED = {
  status: 202,
  applies: (data: unknown) => isJsonObject(data) && data.status === 'running',
}
const id = { required: true } as const

builder.queryField('segments', (t) =>
  t.field({
    description: 'All segments of the project, the newest first.',
    type: [Segment],
    access: 'secretKey',
    rest: get('/segments', TAG),
    resolve: (_root, _args, ctx) => listSegments(ctx),
  }),
)

builder.queryField('segment', (t) =>
  t.field({
    description: 'One segment of the project, with its number of members as it was last counted.',
    type: Segment,
    access: 'secretKey',
    rest: get('/segments/:id', TAG, { errors: ['SEGMENT_NOT_FOUND'] }),
    args: { id: t.arg.id(id) },
    resolve: (_root, { id }, ctx) => getSegment(ctx, id),
  }),
)

builder.queryField('segmentContacts', (t) =>
  t.field({
    description: 'The members of a segment as they are now, the newest contacts first.',
    type: offsetPageOf('SegmentContactPage', Contact),
    access: 'secretKey',
    rest: get('/segments/:id/contacts', TAG, { errors: ['SEGMENT_NOT_FOUND'] }),
    args: { id: t.arg.id(id), ...pageArguments },
    resolve: (_root, { id, ...request }, ctx) => listSegmentMembers(ctx, id, request),
  }),
)

builder.mutationField('createSegment', (t) =>
  t.field({
    description: 'Makes a segment.',
    type: Segment,
    access: 'secretKey',
    rest: create('/segments', TAG, { shortErrorFor: ['condition'], errors: ['CONFLICT'] }),
    args: { input: t.arg({ type: inputFromZod('CreateSegmentInput', createSegmentInput), required: true }) },
    resolve: (_root, { input }, ctx) => createSegment(ctx, input),
  }),
)

builder.mutationField('updateSegment', (t) =>
  t.field({
    description: 'Changes a segment. Members of a tracked one follow a new condition in the background.',
    type: Segment,
    access: 'secretKey',
    rest: patch('/segments/:id', TAG, {
      shortErrorFor: ['condition'],
      errors: ['SEGMENT_NOT_FOUND', 'CONFLICT'],
    }),
    args: {
      id: t.arg.id(id),
      input: t.arg({ type: inputFromZod('UpdateSegmentInput', updateSegmentInput), required: true }),
    },
    resolve: (_root, { id, input }, ctx) => updateSegment(ctx, id, input),
  }),
)

builder.mutationField('deleteSegment', (t) =>
  t.field({
    description: 'Deletes a segment that nothing uses. Its contacts stay.',
    type: 'Boolean',
    access: 'secretKey',
    rest: remove('/segments/:id', TAG, { errors: ['SEGMENT_NOT_FOUND', 'CONFLICT'] }),
    args: { id: t.arg.id(id) },
    resolve: async (_root, { id }, ctx) => {
      await deleteSegment(ctx, id)
      return true
    },
  }),
)

const AddedSegmentMembers = builder.objectRef<AddedMembers>('AddedSegmentMembers').implement({
  description: 'What came of adding contacts to a list.',
  fields: (t) => ({
    added: t.exposeInt('added', { description: 'Contacts that were not on the list.' }),
    created: t.exposeInt('created', { description: 'Contacts that were made.' }),
    notFound: t.exposeStringList('notFound', { description: 'Addresses without a contact.' }),
  }),
})

builder.mutationField('addSegmentMembers', (t) =>
  t.field({
    description: 'Puts contacts on the list of a STATIC segment.',
    type: AddedSegmentMembers,
    access: 'secretKey',
    rest: post('/segments/:id/members', TAG, { errors: ['BAD_REQUEST', 'SEGMENT_NOT_FOUND'] }),
    args: {
      id: t.arg.id(id),
      input: t.arg({ type: inputFromZod('AddSegmentMembersInput', addMembersInput), required: true }),
    },
    resolve: (_root, { id, input }, ctx) => addSegmentMembers(ctx, id, input),
  }),
)

const RemovedSegmentMembers = builder.objectRef<RemovedMembers>('RemovedSegmentMembers').implement({
  description: 'What came of taking contacts off a list.',
  fields: (t) => ({
    removed: t.exposeInt('removed', { description: 'Contacts that were on the list.' }),
    notFound: t.exposeStringList('notFound', { description: 'Addresses without a contact.' }),
  }),
})

builder.mutationField('removeSegmentMembers', (t) =>
  t.field({
    description: 'Takes contacts off the list of a STATIC segment.',
    type: RemovedSegmentMembers,
    access: 'secretKey',
    rest: remove('/segments/:id/members', TAG, { status: 200, errors: ['BAD_REQUEST', 'SEGMENT_NOT_FOUND'] }),
    args: {
      id: t.arg.id(id),
      input: t.arg({ type: inputFromZod('RemoveSegmentMembersInput', removeMembersInput), required: true }),
    },
    resolve: (_root, { id, input }, ctx) => removeSegmentMembers(ctx, id, input),
  }),
)

const ComputedSegment = builder.objectRef<ComputeResult>('ComputedSegment').implement({
  description: 'What came of looking at all contacts.',
  fields: (t) => ({
    added: t.exposeInt('added', { nullable: true }),
    removed: t.exposeInt('removed', { nullable: true }),
    total: t.exposeInt('total', { nullable: true, description: 'Members now.' }),
    status: t.exposeString('status', { description: RUNNING }),
  }),
})

builder.mutationField('computeSegment', (t) =>
  t.field({
    description:
      'Brings the members of a tracked DYNAMIC segment in line with its condition at once; what takes longer than 5 seconds goes on in the background.',
    type: ComputedSegment,
    access: 'secretKey',
    rest: post('/segments/:id/compute', TAG, {
      errors: ['BAD_REQUEST', 'SEGMENT_NOT_FOUND'],
      otherStatus: ACCEPTED,
    }),
    args: { id: t.arg.id(id) },
    resolve: (_root, { id }, ctx) => computeSegment(ctx, id),
  }),
)

const RefreshedSegment = builder.objectRef<RefreshResult>('RefreshedSegment').implement({
  description: 'The number of members.',
  fields: (t) => ({
    memberCount: t.exposeInt('memberCount', { nullable: true }),
    status: t.exposeString('status', { description: RUNNING }),
  }),
})

builder.mutationField('refreshSegment', (t) =>
  t.field({
    description: 'Counts the members of a segment now; records no events and changes no memberships.',
    type: RefreshedSegment,
    access: 'secretKey',
    rest: post('/segments/:id/refresh', TAG, { errors: ['SEGMENT_NOT_FOUND'], otherStatus: ACCEPTED }),
    args: { id: t.arg.id(id) },
    resolve: (_root, { id }, ctx) => refreshSegment(ctx, id),
  }),
)
