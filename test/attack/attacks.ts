import { nameFlood } from './cases/name-flood.ts'
import { openApiFlood } from './cases/openapi-flood.ts'
import { segmentTree } from './cases/segment-tree.ts'
import { uploadFlood } from './cases/upload-flood.ts'
import type { Attack } from './define-attack.ts'

/** Every attack that is tried, in the order of the README's table. */
export const attacks: readonly Attack[] = [openApiFlood, nameFlood, uploadFlood, segmentTree]
