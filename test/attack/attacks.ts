import { compressedBodies } from './cases/compressed-bodies.ts'
import { domainFlood } from './cases/domain-flood.ts'
import { followedSearches } from './cases/followed-searches.ts'
import { forgedBilling } from './cases/forged-billing.ts'
import { forgedNotifications } from './cases/forged-notifications.ts'
import {
  guessedKeys,
  introspectionAliases,
  introspectionFlood,
  longComments,
  manyDocuments,
} from './cases/graphql-strangers.ts'
import { bodiesInLists, fifteenAliases, largeNestedLists } from './cases/graphql-tenant.ts'
import { deepScopes, hostileSends, previewAliases } from './cases/hostile-rendering.ts'
import { manyElements, unmatchedEndTags } from './cases/hostile-text-part.ts'
import { largeLists } from './cases/large-lists.ts'
import { largeSends, largeWideSends } from './cases/large-sends.ts'
import { forgedLinks, toggledSubscription } from './cases/link-floods.ts'
import { manyConnections } from './cases/many-connections.ts'
import { nameFlood } from './cases/name-flood.ts'
import { openApiFlood } from './cases/openapi-flood.ts'
import { rebinding } from './cases/rebinding.ts'
import { renderingTurns } from './cases/rendering-turns.ts'
import { segmentTree } from './cases/segment-tree.ts'
import { signInFlood } from './cases/sign-in-flood.ts'
import { simulatedSearches, simulationFlood } from './cases/simulation-flood.ts'
import { slowReaders } from './cases/slow-readers.ts'
import { smtpFloods } from './cases/smtp-floods.ts'
import { stalledReaders } from './cases/stalled-readers.ts'
import { trackingFlood } from './cases/tracking-flood.ts'
import { uploadFlood } from './cases/upload-flood.ts'
import { warmUpChurn } from './cases/warm-up-churn.ts'
import { badReceivers, insideCalls } from './cases/webhook-floods.ts'
import { wideImports } from './cases/wide-imports.ts'
import { workflowLoop } from './cases/workflow-loop.ts'
import type { Attack } from './define-attack.ts'

/** Every attack that is tried, in the order of the table in docs/benchmarks.md. */
export const attacks: readonly Attack[] = [
  openApiFlood,
  stalledReaders,
  manyConnections,
  largeSends,
  largeWideSends,
  largeLists,
  nameFlood,
  uploadFlood,
  segmentTree,
  previewAliases,
  hostileSends,
  deepScopes,
  unmatchedEndTags,
  manyElements,
  rebinding,
  longComments,
  manyDocuments,
  introspectionAliases,
  introspectionFlood,
  guessedKeys,
  fifteenAliases,
  largeNestedLists,
  bodiesInLists,
  slowReaders,
  renderingTurns,
  compressedBodies,
  forgedLinks,
  toggledSubscription,
  trackingFlood,
  wideImports,
  workflowLoop,
  smtpFloods,
  domainFlood,
  signInFlood,
  forgedNotifications,
  simulationFlood,
  badReceivers,
  insideCalls,
  forgedBilling,
  warmUpChurn,
  simulatedSearches,
  followedSearches,
]
