import { join } from 'node:path'

// From where this file is, not from the working directory: the service may be started from anywhere.
const projectFolder = join(import.meta.dirname, '..', '..')

export const schemaFolder = join(projectFolder, 'prisma', 'schema')
export const migrationsFolder = join(projectFolder, 'prisma', 'migrations')
