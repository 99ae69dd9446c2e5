import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'

/** What the server does instead of answering well. */
export type Misbehaviour =
  | 'SERVFAIL'
  | 'REFUSED'
  /** Never an answer. */
  | 'silence'
  /** No answer until `release`. */
  | 'held'
  /** Bytes that are no answer. */
  | 'garbage'
  /** Over UDP only that there is more than fits; over TCP the records. */
  | 'truncated'

/** The records of one name. A type that is left out has none (NODATA). */
export type Name = {
  A?: string[] | Misbehaviour
  AAAA?: string[] | Misbehaviour
  /** `10 mail.example`; `0 .` is a null MX. */
  MX?: string[] | Misbehaviour
  NS?: string[] | Misbehaviour
  /** Primary server. */
  SOA?: string[] | Misbehaviour
  TXT?: string[] | Misbehaviour
  CNAME?: string[] | Misbehaviour
  /** For every type that is left out, in place of NODATA. */
  others?: Misbehaviour
  /** In seconds. Default: 300. */
  ttl?: number
}

/** Every name that exists; the others are NXDOMAIN. The name `*` stands for all that are not there. */
export type Names = Record<string, Name>

/** What the process is told, and what it says back to each. */
export type Order = { names: Names } | { release: true } | { questions: true }
export type Report = { port: number } | { done: true } | { questions: string[] }

export type DnsServer = {
  /** As DNS_SERVERS takes it. */
  address: string
  /** Replaces all names that the server knows. */
  serve: (names: Names) => Promise<void>
  /** What was asked since the last time, as "MX example.org", sorted. */
  questions: () => Promise<string[]>
  /** Answers what is held. */
  release: () => Promise<void>
  stop: () => Promise<void>
}

/** A DNS server on loopback, over UDP and TCP, in a process of its own. */
export async function startDnsServer(names: Names = {}): Promise<DnsServer> {
  const child = fork(path.join(import.meta.dirname, 'dns-server-process.ts'), { stdio: 'inherit' })
  const exited = once(child, 'exit')
  const report = async (): Promise<Report> => {
    const [message] = await Promise.race([
      once(child, 'message'),
      exited.then((): never => {
        throw new Error('The DNS server has ended')
      }),
    ])
    return message
  }
  const tell = async (order: Order): Promise<Report> => {
    const said = report()
    child.send(order)
    return said
  }
  const first = await report()
  if (!('port' in first)) throw new Error('The DNS server has no port')
  await tell({ names })
  return {
    address: `127.0.0.1:${first.port}`,
    serve: async (next) => void (await tell({ names: next })),
    questions: async () => {
      const said = await tell({ questions: true })
      return 'questions' in said ? said.questions.toSorted() : []
    },
    release: async () => void (await tell({ release: true })),
    stop: async () => {
      child.kill()
      await exited
    },
  }
}
