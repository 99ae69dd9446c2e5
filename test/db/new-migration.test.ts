import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { migrate } from '../../src/db/migrations/migrate.ts'
import { writeMigration } from '../../src/db/migrations/new-migration.ts'
import { describeCatalogue } from '../support/catalogue.ts'
import { scenario } from '../support/scenario.ts'
import { scratchDatabase } from '../support/scratch-database.ts'

const DATASOURCE = 'datasource db {\n  provider = "postgresql"\n}\n'
const TEAM = 'model Team {\n  id String @id @db.Uuid\n  name String?\n\n  @@map("teams")\n}\n'

async function emptyProject() {
  const root = await mkdtemp(join(tmpdir(), 'new-migration-test-'))
  const folders = { schema: join(root, 'schema'), migrations: join(root, 'migrations') }
  await mkdir(folders.schema)
  await mkdir(folders.migrations)
  const database = await scratchDatabase()
  return {
    folders,
    database,
    writeSchema: async (team: string) => {
      await writeFile(join(folders.schema, 'a.prisma'), DATASOURCE)
      await writeFile(join(folders.schema, 'b.prisma'), team)
    },
    stop: async () => {
      await database.stop()
      await rm(root, { recursive: true })
    },
  }
}

scenario('Writing a migration', emptyProject, (test) => {
  test('takes the database from one schema to the next', async ({ folders, database, writeSchema }) => {
    await writeSchema(TEAM)
    const first = await writeMigration('init', new Date('2025-01-02T03:04:05Z'), folders)
    assert.is(first, join(folders.migrations, '20250102030405_init', 'migration.sql'))

    await writeSchema(TEAM.replace('name String?', 'name String @default("-")\n  size Int'))
    await writeMigration('team_size', new Date('2025-01-03T03:04:05Z'), folders)
    await migrate(database.url, { folder: folders.migrations })
    assert.equal(await describeCatalogue(database.pool), [
      'column teams.id = uuid not null',
      "column teams.name = text not null default '-'::text",
      'column teams.size = integer not null',
      'constraint teams.teams_pkey = PRIMARY KEY (id)',
      'table teams',
    ])
  })

  test('needs no right to create schemas', async ({ folders }) => {
    const sql = await readFile(join(folders.migrations, '20250102030405_init', 'migration.sql'), 'utf8')
    assert.match(sql, /^-- CreateTable\nCREATE TABLE "teams"/)
  })

  test('refuses when the schema asks for nothing new', async ({ folders, writeSchema }) => {
    await writeSchema(`/// Said another way.\n${TEAM}`)
    await writeMigration('back', new Date('2025-01-04T03:04:05Z'), folders)
    await writeSchema(TEAM)
    await assertRejects(
      writeMigration('again', new Date('2025-01-05T03:04:05Z'), folders),
      /asks for nothing/,
    )
  })

  test('refuses a name that cannot be a folder', async ({ folders }) => {
    await assertRejects(writeMigration('../Init', new Date(), folders), /has a name like/)
  })
})

async function assertRejects(work: Promise<unknown>, message: RegExp): Promise<void> {
  const outcome = await work.then(
    () => 'it did not fail',
    (error: Error) => error.message,
  )
  assert.match(outcome, message)
}
