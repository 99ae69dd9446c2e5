import { readdirSync } from 'node:fs'
import path from 'node:path'
import * as assert from 'uvu/assert'
import type { Answer, Body, CallOptions, Service } from '../../support/service.ts'

export type Sent = { name?: string; type?: string; field?: string }

/** A form with one file, as a browser would send it. */
export function formWith(image: Uint8Array, { name = 'a.bin', type = '', field = 'image' }: Sent = {}) {
  const form = new FormData()
  form.append(field, new Blob([new Uint8Array(image)], { type }), name)
  return form
}

export const postForm = (service: Service, body: unknown, options: CallOptions = {}): Promise<Answer> =>
  service.call('POST', '/uploads/image', { key: service.project.secret, body, ...options })

export const upload = (service: Service, image: Uint8Array, sent?: Sent): Promise<Answer> =>
  postForm(service, formWith(image, sent))

const UPLOAD_IMAGE =
  'mutation ($input: UploadImageInput!) { uploadImage(input: $input) { url key contentType size } }'

export const uploadByGraphQL = (service: Service, image: unknown): Promise<Answer> =>
  service.as().graphql(UPLOAD_IMAGE, { input: { image } })

/** Uploads an image and returns what was answered. */
export async function uploaded(service: Service, image: Uint8Array, sent?: Sent): Promise<Body> {
  const answer = await upload(service, image, sent)
  assert.is(answer.status, 201, answer.text)
  return answer.body
}

/** The names of all that is in the folder of images, unfinished files too. */
export function storedFiles({ app }: Service): string[] {
  try {
    return readdirSync(path.join(app.config.dataDir, 'uploads')).toSorted()
  } catch {
    return []
  }
}

export const rowsOf = ({ sql }: Service): Promise<Body[]> =>
  sql('select project_id, key, content_type, size, created_at from uploads order by id')
