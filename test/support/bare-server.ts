import type { Server } from 'node:http'
import { createHttpServer, type ServerOptions, serveRoutes } from '../../src/http/server.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { capturedLog } from './captured-log.ts'
import { listen } from './listen.ts'

export type BareServer = {
  server: Server
  url: string
  captured: ReturnType<typeof capturedLog>
  /** Closes it as the service does at its end. */
  close: () => Promise<void>
  stop: () => Promise<void>
}

/** The HTTP server alone, with routes of a test. */
export async function startBareServer(
  options: Partial<ServerOptions> & Pick<ServerOptions, 'routes'>,
  httpOptions: Parameters<typeof createHttpServer>[0] = {},
): Promise<BareServer> {
  const captured = capturedLog()
  const server = createHttpServer(httpOptions)
  const close = serveRoutes(server, {
    dashboardUrl: null,
    log: captured.log,
    metrics: createMetrics(),
    now: () => new Date(),
    ...options,
  })
  const port = await listen(server)
  const stop = async () => {
    server.close()
    server.closeAllConnections()
  }
  return { server, url: `http://127.0.0.1:${port}`, captured, close, stop }
}
