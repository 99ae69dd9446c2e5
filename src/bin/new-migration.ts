import { writeMigration } from '../db/migrations/new-migration.ts'

try {
  console.log(await writeMigration(process.argv[2] ?? '', new Date()))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  console.error('Usage: node src/bin/new-migration.ts NAME')
  process.exitCode = 1
}
