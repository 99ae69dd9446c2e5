import type { S3Client } from '@aws-sdk/client-s3'
import type { S3Config } from '../../config.ts'
import { AppError } from '../../errors.ts'
import type { ImageStore } from './image-store.ts'
import { IMMUTABLE } from './images.rules.ts'

/** In milliseconds: until the connection is open, without any data, and for all attempts together. */
export type S3TimeLimits = { connect: number; idle: number; total: number }

const TIME_LIMITS: S3TimeLimits = { connect: 5_000, idle: 10_000, total: 30_000 }

/** Images in a bucket of S3 or of a service that speaks its protocol; readers load them from there. */
export function createS3Store(s3: S3Config, limits: S3TimeLimits = TIME_LIMITS): ImageStore {
  return {
    put: (key, bytes, contentType) =>
      withClient(s3, limits, async (client, { PutObjectCommand }, abortSignal) => {
        const put = new PutObjectCommand({
          Bucket: s3.bucket,
          Key: key,
          Body: bytes,
          ContentType: contentType,
          CacheControl: IMMUTABLE,
          ContentDisposition: 'inline',
        })
        await client.send(put, { abortSignal })
      }),
    remove: (key) =>
      withClient(s3, limits, async (client, { DeleteObjectCommand }, abortSignal) => {
        await client.send(new DeleteObjectCommand({ Bucket: s3.bucket, Key: key }), { abortSignal })
      }),
    urlOf: (key) => `${s3.publicUrl}/${key}`,
    failure: () =>
      new AppError('EXTERNAL_SERVICE_ERROR', 'The object store did not take the image. Nothing was stored.', {
        suggestion: 'Try again later; the operator finds the reason in the log.',
      }),
  }
}

type Sdk = typeof import('@aws-sdk/client-s3')
type Work = (client: S3Client, sdk: Sdk, signal: AbortSignal) => Promise<void>

/** A client for one call: uploads are rare, and no connection stays open afterwards. */
async function withClient(s3: S3Config, { connect, idle, total }: S3TimeLimits, work: Work): Promise<void> {
  // It takes a tenth of a second and 40 MB, which a service without S3 need not spend.
  const sdk = await import('@aws-sdk/client-s3')
  const client = new sdk.S3Client({
    region: s3.region,
    credentials: { accessKeyId: s3.accessKeyId, secretAccessKey: s3.secretAccessKey },
    ...(s3.endpoint !== null && { endpoint: s3.endpoint, forcePathStyle: true }),
    requestHandler: { connectionTimeout: connect, socketTimeout: idle },
    maxAttempts: 2,
    // Newer checksums are refused by some services that are not Amazon's; the signature covers the content.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  try {
    await work(client, sdk, AbortSignal.timeout(total))
  } finally {
    client.destroy()
  }
}
