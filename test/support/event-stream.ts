import type { Answer, Body, Service } from './service.ts'

/** Reads a stream of server-sent events, about what has an id or about nothing; `next` waits for one, null is the end. */
export async function followStream(
  service: Service,
  key: string | null,
  id: string | null,
  { query, accept = 'text/event-stream' }: { query: string; accept?: string | undefined },
) {
  const leave = new AbortController()
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: {
      accept,
      'content-type': 'application/json',
      ...(key !== null && { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ query, variables: id === null ? {} : { id } }),
    signal: AbortSignal.any([leave.signal, AbortSignal.timeout(60_000)]),
  })
  const events = eventsOf(response)
  return {
    response,
    type: response.headers.get('content-type'),
    leave: () => leave.abort(),
    next: async (): Promise<Body> => (await events.next()).value ?? null,
  }
}

/** The first event of a subscription, which is left with that, or the answer of another kind that it got. */
export async function firstEvent(
  { url }: Pick<Service, 'url'>,
  query: string,
  headers: Record<string, string>,
): Promise<Answer> {
  const leave = new AbortController()
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { accept: 'text/event-stream', 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query }),
    signal: AbortSignal.any([leave.signal, AbortSignal.timeout(30_000)]),
  })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  const body: Body = isStream ? (await eventsOf(response).next()).value : await response.json()
  leave.abort()
  return { status: response.status, headers: response.headers, text: JSON.stringify(body), body }
}

async function* eventsOf(response: Response): AsyncGenerator<Body> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    const parts = text.split('\n\n')
    text = parts.pop() ?? ''
    for (const part of parts) {
      const data = /^event: next\ndata: (.*)$/ms.exec(part)?.[1]
      if (data) yield JSON.parse(data)
    }
  }
}
