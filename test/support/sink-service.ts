import { type MailSink, type MailSinkOptions, startMailSink } from './mail-sink.ts'
import { type Service, startService } from './service.ts'

/** A service that hands its mail to a server of the test. */
export type SinkService = Service & { sink: MailSink }

/** With one connection to that server, messages arrive in the order in which they are taken; while it holds one, all others wait. */
export async function startWithSink(
  options: MailSinkOptions = {},
  env: Record<string, string> = {},
): Promise<SinkService> {
  const sink = await startMailSink(options)
  const smtp = { MAIL_PROVIDER: 'smtp', SMTP_URL: sink.url, SMTP_CONNECTIONS: '1' }
  const service = await startService({ ...smtp, ...env })
  return {
    ...service,
    sink,
    stop: async () => {
      await service.stop()
      await sink.stop()
    },
  }
}
