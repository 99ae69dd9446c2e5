import { deepScopes, hostileSends, previewAliases } from './cases/hostile-rendering.ts'
import { manyElements, unmatchedEndTags } from './cases/hostile-text-part.ts'
import { openApiFlood } from './cases/openapi-flood.ts'
import type { Attack } from './define-attack.ts'

/** Every attack that is tried, in the order of the README's table. */
export const attacks: readonly Attack[] = [
  openApiFlood,
  previewAliases,
  hostileSends,
  deepScopes,
  unmatchedEndTags,
  manyElements,
]
