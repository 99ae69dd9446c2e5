import { IMAGES } from '../../support/images.ts'
import type { Attack, Target } from '../define-attack.ts'

const UPLOADS = 200
/** Together more than the quota. What comes after the end of a PNG is looked at by nobody. */
const IMAGE = new Uint8Array(Buffer.concat([IMAGES.png, Buffer.alloc(6 * 1024 * 1024)]))

/** The status of the answer; 0 when there was none. */
async function upload({ url, tenant, signal }: Target): Promise<number> {
  const body = new FormData()
  body.append('image', new Blob([IMAGE]), 'image.png')
  const headers = { authorization: `Bearer ${tenant.secret}` }
  try {
    const response = await fetch(`${url}/uploads/image`, { method: 'POST', headers, body, signal })
    await response.arrayBuffer()
    return response.status
  } catch {
    return 0
  }
}

export const uploadFlood: Attack = {
  name: 'uploads: 200 images of 6 MB at once',
  before: '1.2 GB on disk, and as much again with every minute',
  run: async (target) => {
    const statuses = await Promise.all(Array.from({ length: UPLOADS }, () => upload(target)))
    const counts = Map.groupBy(statuses, (status) => status)
    return [...counts]
      .map(([status, all]) => `${all.length} × ${status || 'no answer'}`)
      .toSorted()
      .join(', ')
  },
}
