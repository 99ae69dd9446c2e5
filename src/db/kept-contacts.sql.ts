/** What stands for the address of a contact that is being erased: no address has it, since it has no @. */
export const ERASED = 'erased:'

/**
 * That a contact is not one of the few whose deletion is under way, because their events are too many to go in one
 * commit; `project` is the place of the project's id. As long as there are none it costs nothing per contact.
 */
export const isKept = (contact: string, project: string): string => isIdKept(`${contact}.id`, project)

/** The same for a column with the contact's id. */
export const isIdKept = (id: string, project: string): string => {
  const erased = `select contact_id from contact_erasures where project_id = ${project} and contact_id is not null`
  return `(not exists (${erased}) or ${id} not in (${erased}))`
}
