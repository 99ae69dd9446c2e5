/** Why a project is disabled while its data is removed at its owner's wish; it ends by itself. */
export const BEING_RESET = 'BEING_RESET'

/** Why a project is disabled while it is removed itself. */
export const BEING_DELETED = 'BEING_DELETED'
