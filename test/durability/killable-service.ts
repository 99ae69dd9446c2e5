import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/db/embedded/embedded-postgres.ts'
import { provision } from '../support/backstage.ts'
import { type MailSinkOptions, startMailSink } from '../support/mail-sink.ts'
import type { Project } from '../support/service.ts'
import { endProcess, ownPort, type ServiceProcess, startProcess } from '../support/service-process.ts'

/** A service process with a database server and a mail server of its own: what a test may kill and start again. */
export type KillableService = {
  sink: Awaited<ReturnType<typeof startMailSink>>
  project: Project
  /** The address of the database, the same after a restart. */
  databaseUrl: string
  /** Starts the service, which must not run. */
  boot: () => Promise<ServiceProcess>
  /** SIGKILL; nothing happens when it does not run. */
  kill: () => Promise<void>
  /** SIGKILL of the database server. */
  killDatabase: () => void
  /** Shuts the database server down and starts it again, under the service. */
  restartDatabase: () => Promise<void>
  stop: () => Promise<void>
}

export type KillableOptions = {
  sink?: MailSinkOptions
  /** Query parameters of SMTP_URL. */
  smtp?: string
  env?: Record<string, string>
  /** Whether the database is the service's own, which starts it again, or one that it is told the address of. */
  embedded?: boolean
}

export async function startKillable({
  sink: sinkOptions = {},
  smtp = '',
  env: more = {},
  embedded = false,
}: KillableOptions = {}): Promise<KillableService> {
  const directory = mkdtempSync(path.join(tmpdir(), 'mailwright-killable-'))
  const dataDir = path.join(directory, 'postgres')
  const sink = await startMailSink(sinkOptions)
  const database: { server: EmbeddedPostgres } = { server: await startEmbeddedPostgres({ dataDir }) }
  const { url: databaseUrl } = database.server
  const env = {
    DATA_DIR: directory,
    PORT: String(await ownPort()),
    MAIL_PROVIDER: 'smtp',
    SMTP_URL: sink.url + smtp,
    RATE_LIMIT_PER_MINUTE: '0',
    PROJECT_SEND_RATE_PER_SECOND: '0',
    ...(!embedded && { DATABASE_URL: databaseUrl }),
    ...more,
  }
  const project = await provision(env)
  const running: { service?: ServiceProcess } = {}
  const kill = () => endProcess(running.service)
  return {
    sink,
    project,
    databaseUrl,
    boot: async () => {
      running.service = await startProcess(env)
      return running.service
    },
    kill,
    killDatabase: () => {
      const file = path.join(dataDir, 'cluster', 'postmaster.pid')
      process.kill(Number.parseInt(readFileSync(file, 'utf8'), 10), 'SIGKILL')
    },
    restartDatabase: async () => {
      await database.server.stop()
      database.server = await startEmbeddedPostgres({ dataDir })
    },
    stop: async () => {
      await kill()
      await database.server.stop()
      await sink.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
