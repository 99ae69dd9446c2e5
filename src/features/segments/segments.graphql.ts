import type { SegmentType } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { CREATED_AT, idOf, PROJECT_ID, requiredId, UPDATED_AT } from '../../graphql/common-fields.ts'
import { defineEnum, inputArgument } from '../../graphql/inputs/zod-input.ts'
import { offsetPageOf, pageArguments } from '../../graphql/offset-page.ts'
import { create, get, patch, post, remove } from '../../graphql/rest-route.ts'
import { isJsonObject } from '../../lib/json.ts'
import { ContactRef } from '../contacts/contacts.graphql.ts'
import { type ComputeResult, computeSegment } from './compute-segment.ts'
import { getSegment, listSegments } from './find-segment.ts'
import { type RefreshResult, refreshSegment } from './member-count.ts'
import { addMembersInput, removeMembersInput } from './segment-members.input.ts'
import {
  type AddedMembers,
  addSegmentMembers,
  listSegmentMembers,
  type RemovedMembers,
  removeSegmentMembers,
} from './segment-members.ts'
import { createSegmentInput, updateSegmentInput } from './segments.input.ts'
import { createSegment, deleteSegment, updateSegment } from './segments.ts'

const SegmentTypeRef = defineEnum<SegmentType>('SegmentType', {
  description: 'Way in which a segment gets its members.',
  values: {
    DYNAMIC: {
      description:
        'A segment of all contacts for which its condition is true; members come and go by themselves.',
    },
    STATIC: { description: 'A segment whose members are added and removed by hand.' },
  },
})

export const SegmentRef = builder.prismaObject('Segment', {
  description: 'A part of the contacts: all that meet a condition, or a list.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('segment')),
    projectId: t.exposeID('projectId', PROJECT_ID),
    name: t.exposeString('name', { description: 'Name for people, at most 100 characters.' }),
    slug: t.exposeString('slug', {
      description:
        'Part of the names of entry and exit events, unique in the project: created from the first name, such as `vip`, and not changed with it.',
    }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'Note for people, at most 500 characters; null without one.',
    }),
    type: t.expose('type', {
      type: SegmentTypeRef,
      description: 'Way in which the segment gets its members; it stays the same.',
    }),
    condition: t.field({
      type: 'JSON',
      nullable: true,
      description: 'Filter tree of a DYNAMIC segment; null for a STATIC one.',
      resolve: ({ condition }) => condition,
    }),
    trackMembership: t.exposeBoolean('trackMembership', {
      description:
        'Whether entries and exits are recorded as the events segment.<slug>.entry and segment.<slug>.exit.',
    }),
    memberCount: t.exposeInt('memberCount', {
      description: 'Number of members as it was last counted; refreshSegment counts again.',
    }),
    createdAt: t.expose('createdAt', CREATED_AT),
    updatedAt: t.expose('updatedAt', UPDATED_AT),
  }),
})

const TAG = 'Segments'
const RUNNING =
  'Either `completed`, or `running` (202) when the work takes longer than 5 seconds and goes on in the background: the other fields are null then.'
const ACCEPTED = {
  status: 202,
  applies: (data: unknown) => isJsonObject(data) && data.status === 'running',
}
const id = requiredId('segment')

builder.queryField('segments', (t) =>
  t.field({
    description: 'All segments of the project, the newest first.',
    type: [SegmentRef],
    access: 'secretKey',
    rest: get('/segments', TAG),
    resolve: (_root, _args, ctx) => listSegments(ctx),
  }),
)

builder.queryField('segment', (t) =>
  t.field({
    description: 'One segment of the project, with its number of members as it was last counted.',
    type: SegmentRef,
    access: 'secretKey',
    rest: get('/segments/:id', TAG, { errors: ['SEGMENT_NOT_FOUND'] }),
    args: { id: t.arg.id(id) },
    resolve: (_root, { id }, ctx) => getSegment(ctx, id),
  }),
)

builder.queryField('segmentContacts', (t) =>
  t.field({
    description: 'The members of a segment as they are now, the newest contacts first.',
    type: offsetPageOf('SegmentContactPage', ContactRef),
    access: 'secretKey',
    rest: get('/segments/:id/contacts', TAG, { errors: ['SEGMENT_NOT_FOUND'] }),
    args: { id: t.arg.id(id), ...pageArguments },
    resolve: (_root, { id, ...request }, ctx) => listSegmentMembers(ctx, id, request),
  }),
)

builder.mutationField('createSegment', (t) =>
  t.field({
    description: 'Creates a segment.',
    type: SegmentRef,
    access: 'secretKey',
    rest: create('/segments', TAG, { shortErrorFor: ['condition'], errors: ['CONFLICT'] }),
    args: { input: t.arg(inputArgument('CreateSegmentInput', createSegmentInput, [SegmentTypeRef])) },
    resolve: (_root, { input }, ctx) => createSegment(ctx, input),
  }),
)

builder.mutationField('updateSegment', (t) =>
  t.field({
    description:
      'Changes the given fields of a segment. Members of a tracked one follow a new condition in the background.',
    type: SegmentRef,
    access: 'secretKey',
    rest: patch('/segments/:id', TAG, {
      shortErrorFor: ['condition'],
      errors: ['SEGMENT_NOT_FOUND', 'CONFLICT'],
    }),
    args: {
      id: t.arg.id(id),
      input: t.arg(inputArgument('UpdateSegmentInput', updateSegmentInput)),
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

const AddedSegmentMembersRef = builder.objectRef<AddedMembers>('AddedSegmentMembers').implement({
  description: 'Outcome of adding contacts to a list.',
  fields: (t) => ({
    added: t.exposeInt('added', { description: 'Number of contacts that were not on the list before.' }),
    created: t.exposeInt('created', { description: 'Number of contacts that were created.' }),
    notFound: t.exposeStringList('notFound', {
      description: 'Addresses that no contact of the project has, in lower case.',
    }),
  }),
})

builder.mutationField('addSegmentMembers', (t) =>
  t.field({
    description: 'Adds contacts to the list of a STATIC segment.',
    type: AddedSegmentMembersRef,
    access: 'secretKey',
    rest: post('/segments/:id/members', TAG, { errors: ['BAD_REQUEST', 'SEGMENT_NOT_FOUND'] }),
    args: {
      id: t.arg.id(id),
      input: t.arg(inputArgument('AddSegmentMembersInput', addMembersInput)),
    },
    resolve: (_root, { id, input }, ctx) => addSegmentMembers(ctx, id, input),
  }),
)

const RemovedSegmentMembersRef = builder.objectRef<RemovedMembers>('RemovedSegmentMembers').implement({
  description: 'Outcome of removing contacts from a list.',
  fields: (t) => ({
    removed: t.exposeInt('removed', { description: 'Number of contacts that were on the list.' }),
    notFound: t.exposeStringList('notFound', {
      description: 'Addresses that no contact of the project has, in lower case.',
    }),
  }),
})

builder.mutationField('removeSegmentMembers', (t) =>
  t.field({
    description: 'Removes contacts from the list of a STATIC segment.',
    type: RemovedSegmentMembersRef,
    access: 'secretKey',
    rest: remove('/segments/:id/members', TAG, { status: 200, errors: ['BAD_REQUEST', 'SEGMENT_NOT_FOUND'] }),
    args: {
      id: t.arg.id(id),
      input: t.arg(inputArgument('RemoveSegmentMembersInput', removeMembersInput)),
    },
    resolve: (_root, { id, input }, ctx) => removeSegmentMembers(ctx, id, input),
  }),
)

const ComputedSegmentRef = builder.objectRef<ComputeResult>('ComputedSegment').implement({
  description: 'Outcome of evaluating a segment for all contacts.',
  fields: (t) => ({
    added: t.exposeInt('added', { nullable: true, description: 'Number of contacts that have entered.' }),
    removed: t.exposeInt('removed', { nullable: true, description: 'Number of contacts that have left.' }),
    total: t.exposeInt('total', { nullable: true, description: 'Number of members afterwards.' }),
    status: t.exposeString('status', { description: RUNNING }),
  }),
})

builder.mutationField('computeSegment', (t) =>
  t.field({
    description:
      'Brings the members of a tracked DYNAMIC segment in line with its condition at once; what takes longer than 5 seconds goes on in the background.',
    type: ComputedSegmentRef,
    access: 'secretKey',
    rest: post('/segments/:id/compute', TAG, {
      errors: ['BAD_REQUEST', 'SEGMENT_NOT_FOUND'],
      otherStatus: ACCEPTED,
    }),
    args: { id: t.arg.id(id) },
    resolve: (_root, { id }, ctx) => computeSegment(ctx, id),
  }),
)

const RefreshedSegmentRef = builder.objectRef<RefreshResult>('RefreshedSegment').implement({
  description: 'Outcome of counting the members of a segment.',
  fields: (t) => ({
    memberCount: t.exposeInt('memberCount', {
      nullable: true,
      description: 'Number of members at this moment.',
    }),
    status: t.exposeString('status', { description: RUNNING }),
  }),
})

builder.mutationField('refreshSegment', (t) =>
  t.field({
    description: 'Counts the members of a segment; records no events and changes no memberships.',
    type: RefreshedSegmentRef,
    access: 'secretKey',
    rest: post('/segments/:id/refresh', TAG, { errors: ['SEGMENT_NOT_FOUND'], otherStatus: ACCEPTED }),
    args: { id: t.arg.id(id) },
    resolve: (_root, { id }, ctx) => refreshSegment(ctx, id),
  }),
)
