import { builder } from '../../graphql/builder.ts'
import { inputFromZod } from '../../graphql/inputs/zod-input.ts'
import { offsetPageOf, pageArguments } from '../../graphql/offset-page.ts'
import { create, get, remove } from '../../graphql/rest-route.ts'
import {
  deleteImage,
  listImages,
  MAX_IMAGE_BYTES,
  type UploadedImage,
  uploadImage,
  uploadImageInput,
} from './uploads.ts'

const UploadedImageType = builder.objectRef<UploadedImage>('UploadedImage').implement({
  description: 'An image that anyone can load.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'Its public address, which stays the same.' }),
    key: t.exposeString('key', { description: 'Its name in the store.' }),
    contentType: t.exposeString('contentType', {
      description: 'image/jpeg, image/png, image/gif or image/webp.',
    }),
    size: t.exposeInt('size', { description: 'In bytes.' }),
  }),
})

builder.mutationField('uploadImage', (t) =>
  t.field({
    description: 'Stores an image to show in mail and returns its public address.',
    type: UploadedImageType,
    access: 'secretKey',
    rest: create('/uploads/image', 'Uploads', {
      upload: { field: 'image', maxBytes: MAX_IMAGE_BYTES },
      errors: ['EXTERNAL_SERVICE_ERROR'],
    }),
    args: { input: t.arg({ type: inputFromZod('UploadImageInput', uploadImageInput), required: true }) },
    resolve: (_root, { input }, ctx) => uploadImage(ctx, input),
  }),
)

const ImagePage = offsetPageOf('ImagePage', UploadedImageType)

builder.queryField('images', (t) =>
  t.field({
    description: 'The uploaded images of the project, the newest first.',
    type: ImagePage,
    access: 'secretKey',
    rest: get('/uploads/image', 'Uploads'),
    args: pageArguments,
    resolve: (_root, query, ctx) => listImages(ctx, query),
  }),
)

builder.mutationField('deleteImage', (t) =>
  t.field({
    description: 'Removes an uploaded image. Mail that shows it, sent or not, shows a gap from then on.',
    type: 'Boolean',
    access: 'secretKey',
    rest: remove('/uploads/image/:key', 'Uploads', { errors: ['EXTERNAL_SERVICE_ERROR'] }),
    args: { key: t.arg.string({ required: true }) },
    resolve: async (_root, { key }, ctx) => {
      await deleteImage(ctx, key)
      return true
    },
  }),
)
