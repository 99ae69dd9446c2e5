import { join } from 'node:path'

// Found from the place of this file, not from the working directory: the service may be started from
// anywhere.
const PROJECT_FOLDER = join(import.meta.dirname, '..', '..')

export const SCHEMA_FOLDER = join(PROJECT_FOLDER, 'prisma', 'schema')
export const MIGRATIONS_FOLDER = join(PROJECT_FOLDER, 'prisma', 'migrations')
