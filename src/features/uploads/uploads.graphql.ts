import { builder } from '../../graphql/builder.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { offsetPageOf, pageArguments } from '../../graphql/offset-page.ts'
import { create, get, remove } from '../../graphql/rest-route.ts'
import { MAX_IMAGE_BYTES, uploadImageInput } from './uploads.input.ts'
import { deleteImage, listImages, type UploadedImage, uploadImage } from './uploads.ts'

const UploadedImageRef = builder.objectRef<UploadedImage>('UploadedImage').implement({
  description: 'An uploaded image, which anyone who has its address can load.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'Public address of the image, which stays the same.' }),
    key: t.exposeString('key', {
      description: 'Name of the image in the store, such as `0f3a….png`; it identifies the image.',
    }),
    contentType: t.exposeString('contentType', {
      description: 'Media type found in the content: image/jpeg, image/png, image/gif or image/webp.',
    }),
    size: t.exposeInt('size', { description: 'Size of the file in bytes.' }),
  }),
})

builder.mutationField('uploadImage', (t) =>
  t.field({
    description: 'Stores an image to show in mail and returns its public address.',
    type: UploadedImageRef,
    access: 'secretKey',
    rest: create('/uploads/image', 'Uploads', {
      upload: { field: 'image', maxBytes: MAX_IMAGE_BYTES },
      errors: ['EXTERNAL_SERVICE_ERROR'],
    }),
    args: { input: t.arg(inputArgument('UploadImageInput', uploadImageInput)) },
    resolve: (_root, { input }, ctx) => uploadImage(ctx, input),
  }),
)

const ImagePageRef = offsetPageOf('ImagePage', UploadedImageRef)

builder.queryField('images', (t) =>
  t.field({
    description: 'The uploaded images of the project, the newest first.',
    type: ImagePageRef,
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
    args: {
      key: t.arg.string({
        required: true,
        description: 'Name of the image in the store: the field `key` of it.',
      }),
    },
    resolve: async (_root, { key }, ctx) => {
      await deleteImage(ctx, key)
      return true
    },
  }),
)
