import { createServer, Packet } from 'dns2'
import { freePort } from '../../src/lib/net/free-port.ts'
import type { Misbehaviour, Names, Order, Report } from './dns-server.ts'

// The program that startDnsServer runs.

const TYPES = ['A', 'AAAA', 'MX', 'NS', 'SOA', 'TXT', 'CNAME'] as const
type Type = (typeof TYPES)[number]

type Send = (response: Packet | Buffer) => Promise<Buffer>

let names: Names = {}
let questions: string[] = []
const held: (() => void)[] = []

/** The data of a record as dns2 writes it. */
function dataOf(type: Type, text: string): object {
  const [priority = '', exchange = ''] = text.split(' ')
  switch (type) {
    case 'A':
    case 'AAAA':
      return { address: text }
    case 'MX':
      return { priority: Number(priority), exchange: exchange === '.' ? '' : exchange }
    case 'NS':
      return { ns: text }
    case 'TXT':
      // A record holds strings of at most 255 bytes (RFC 1035, 3.3.14).
      return { data: text.match(/.{1,255}/gs) ?? [''] }
    case 'CNAME':
      return { domain: text }
    case 'SOA':
      return {
        primary: text,
        admin: `hostmaster.${text}`,
        serial: 1,
        refresh: 7_200,
        retry: 3_600,
        expiration: 86_400,
        minimum: 60,
      }
  }
}

type Asked = { request: Packet; question: Packet['questions'][number]; type: Type; overTcp: boolean }

function answer(request: Packet, send: Send, overTcp: boolean): void {
  const [question] = request.questions
  const type = TYPES.find((known) => Packet.TYPE[known] === question?.type)
  if (!question || !type) return
  const asked = { request, question, type, overTcp }
  const domain = question.name.toLowerCase()
  questions.push(`${type} ${domain}`)
  const name = names[domain] ?? names['*']
  const found = name && (name[type] ?? name.others ?? [])
  const reply = () => {
    const packet = typeof found === 'string' ? misbehaving(found, asked) : response(asked, found, name?.ttl)
    // Who asked may have gone in the meantime.
    if (packet) send(packet).catch(() => {})
  }
  if (found === 'held') held.push(reply)
  else reply()
}

/** Without a list the name does not exist. */
function response({ request, question, type }: Asked, list: string[] | undefined, ttl = 300): Packet {
  const packet = Packet.createResponseFromRequest(request)
  packet.header.rcode = list ? Packet.RCODE.NOERROR : Packet.RCODE.NXDOMAIN
  packet.answers = (list ?? []).map((text) =>
    Packet.createResourceFromQuestion(question, { ttl, ...dataOf(type, text) }),
  )
  return packet
}

const RECORDS: Partial<Record<Type, string[]>> = {
  A: ['192.0.2.1'],
  AAAA: ['2001:db8::1'],
  MX: ['10 mail.example'],
}

function misbehaving(how: Misbehaviour, asked: Asked): Packet | Buffer | null {
  const empty = response(asked, [])
  switch (how) {
    case 'silence':
      return null
    case 'held':
      return response(asked, RECORDS[asked.type] ?? [])
    case 'garbage':
      return Buffer.concat([empty.toBuffer().subarray(0, 2), Buffer.from('no answer at all')])
    case 'truncated':
      empty.header.tc = 1
      return asked.overTcp ? response(asked, RECORDS[asked.type] ?? []) : empty
    default:
      empty.header.rcode = Packet.RCODE[how]
      return empty
  }
}

function obey(order: Order): Report {
  if ('names' in order) names = order.names
  else if ('release' in order) for (const reply of held.splice(0)) reply()
  else {
    const asked = questions
    questions = []
    return { questions: asked }
  }
  return { done: true }
}

const port = await freePort('127.0.0.1')
const server = createServer({
  udp: true,
  tcp: true,
  handle: (request, send, client) => answer(request, send, 'remoteAddress' in client),
})
await server.listen({ udp: { port, address: '127.0.0.1' }, tcp: { port, address: '127.0.0.1' } })
process.on('message', (order: Order) => process.send?.(obey(order)))
// Whoever started it has gone.
process.on('disconnect', () => process.exit())
process.send?.({ port } satisfies Report)
