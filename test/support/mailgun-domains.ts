import type { IncomingMessage } from 'node:http'

type State = 'active' | 'unverified' | 'disabled'
type Answer = { status: number; message: string; json?: object }

/**
 * Domains of an account of Mailgun, as its API answers about them (documentation.mailgun.com, API Reference, Domains):
 * `GET`, `POST /v4/domains`, `GET /v4/domains/{name}`, `PUT /v4/domains/{name}/verify`.
 */
export function mailgunDomains() {
  const states = new Map<string, State>()
  const state = {
    /** Domains of other accounts. */
    taken: new Set<string>(),
    /** What a check finds; a domain that is not there keeps its state. */
    checked: new Map<string, State>(),
    /** Every call, such as "POST /v4/domains". */
    calls: [] as string[],
    /** While it is set nothing about domains is answered well. */
    isDown: false,
  }

  const shown = (name: string) => {
    const valid = states.get(name) === 'active' ? 'valid' : 'unknown'
    const record = (type: string, host: string, value: string) => ({
      ...{ cached: [], is_active: true, record_type: type, name: host, valid, value },
    })
    return {
      domain: {
        ...{ id: `id-${name}`, name, state: states.get(name), is_disabled: false, type: 'custom' },
        ...{ created_at: 'Wed, 10 Jul 2013 19:26:52 GMT', require_tls: false, skip_verification: false },
        ...{
          smtp_login: `postmaster@${name}`,
          spam_action: 'disabled',
          wildcard: false,
          web_prefix: 'email',
        },
      },
      receiving_dns_records: [
        { cached: [], priority: '10', record_type: 'MX', valid, value: 'mxa.mailgun.org' },
        { cached: [], priority: '10', record_type: 'MX', valid, value: 'mxb.mailgun.org' },
      ],
      sending_dns_records: [
        record('TXT', name, 'v=spf1 include:mailgun.org ~all'),
        record('TXT', `mx._domainkey.${name}`, 'k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQ'),
        record('CNAME', `email.${name}`, 'mailgun.org'),
      ],
    }
  }

  async function answer(request: IncomingMessage, body: Buffer): Promise<Answer | null> {
    const { pathname } = new URL(request.url ?? '/', 'http://mailgun')
    const [, name, verb] = /^\/v4\/domains(?:\/([^/]+))?(?:\/(verify))?$/.exec(pathname) ?? []
    if (!pathname.startsWith('/v4/domains')) return null
    state.calls.push(`${request.method} ${pathname}`)
    if (state.isDown) return { status: 500, message: 'Internal Server Error' }
    if (name === undefined && request.method === 'GET') {
      return { status: 200, message: '', json: { items: [], total_count: 0 } }
    }
    if (name === undefined) return create(request, body)
    if (!states.has(name)) return { status: 404, message: 'Domain not found' }
    if (verb !== undefined) states.set(name, state.checked.get(name) ?? states.get(name) ?? 'unverified')
    return { status: 200, message: '', json: shown(name) }
  }

  async function create(request: IncomingMessage, body: Buffer): Promise<Answer> {
    const type = request.headers['content-type'] ?? ''
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
    const name = String(form.get('name'))
    if (states.has(name)) return { status: 400, message: 'This domain name is already taken' }
    if (state.taken.has(name)) {
      return { status: 400, message: `Domain ${name} is already taken by another account` }
    }
    states.set(name, 'unverified')
    return { status: 200, message: '', json: { ...shown(name), message: 'Domain has been created' } }
  }

  return { state, states, answer }
}
