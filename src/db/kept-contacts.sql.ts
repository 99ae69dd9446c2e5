/** Replaces the address of a contact that is being erased: no address is like it, since it has no @. */
export const ERASED = 'erased:'

/**
 * That a contact is not one of the few whose deletion is under way, because their events are too many to go in one
 * commit. As long as there are none it costs nothing per contact. The project is `:projectId`.
 */
export const isKept = (contact: string): string => isIdKept(`${contact}.id`)

/** The same for a column with the contact's id. */
export const isIdKept = (id: string): string =>
  `(not exists (${BEING_ERASED}) or ${id} not in (${BEING_ERASED}))`

const BEING_ERASED =
  'select contact_id from contact_erasures where project_id = :projectId::uuid and contact_id is not null'
