import type { Header, OpenApiDocument, Parameter } from './openapi-types.ts'

/** Texts that apply to every operation. */
export const INTRODUCTION = `Send \`Authorization: Bearer <key>\` with every request. A project has two keys: the public key (\`pk_…\`) may only track events and can be shipped to browsers; the secret key (\`sk_…\`) does everything else and stays on a server.

Bodies are JSON objects. In a body, fields that are not described are ignored (the header \`X-Mailwright-Warning\` names them) and null stands for a field that is left out, unless the field says otherwise. Dates are ISO 8601 in UTC, ids are UUIDs.

\`/v1/\` answers with \`{ success: true, data }\`, everything else with the resource itself. A failed request is answered with the envelope \`Error\`; \`error.code\` is for programs. An unknown path is 404 \`RESOURCE_NOT_FOUND\`, an unknown method of a known path 405 \`METHOD_NOT_ALLOWED\` with \`Allow\`.

Every answer has an \`X-Request-Id\`: the one that the request came with, or a new one.

A project may send a limited number of requests in a minute, over all endpoints; the \`RateLimit-\` headers say how many are left. The public key has four fifths of them. In GraphQL each root field counts.`

/** Descriptions of the sections, by the tag of their operations. */
export const SECTIONS: Record<string, string> = {
  'Public API': 'Sending, tracking and checking of addresses: what applications call.',
  Accounts: 'Users of the dashboard: signing up, signing in, sessions.',
  Projects: 'Projects of the signed-in user: settings, keys, reset and deletion.',
  Members: 'Who works on a project, with their roles and invitations.',
  Configuration: 'What this service has switched on.',
  Activity: 'What happens in the project, as a feed, and what will happen next.',
  Analytics: 'Numbers of mail, campaigns and events over time.',
  Contacts: 'People who are written to: their data, custom fields, CSV import and bulk changes.',
  Domains: 'Domains that mail is sent from, with the DNS records that they need.',
  Events: 'What contacts have done, with counts and uses of each name.',
  Campaigns: 'Messages to an audience, each contact once, and what became of them.',
  Suppressions: 'Addresses that no mail is sent to: after bounces and complaints, or put there by hand.',
  Segments: 'Groups of contacts: those that meet a condition, or a list of members.',
  Templates: 'Messages with placeholders that are filled in when they are sent.',
  Workflows: 'Journeys of contacts through steps: what starts them, what happens, and where each contact is.',
  Billing: 'What a project pays for: subscription, caps on messages in a month, invoices.',
  Uploads: 'Images to show in mail.',
}

export const SECURITY_SCHEMES: OpenApiDocument['components']['securitySchemes'] = {
  publicKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'The public key of the project, pk_…, or a further key of the scope TRACK, ak_…',
  },
  secretKey: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The secret key of the project, sk_…, or a further key whose scope includes the operation, ak_…',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'token',
    description:
      'The session of a signed-in user, with the header X-Project-Id where the path names no project, and with Origin where it changes something. Wherever a secret key is accepted so is a session, and is refused with 400 BAD_REQUEST without X-Project-Id, with 403 PROJECT_ACCESS_DENIED when that names no project of the user, with 403 FORBIDDEN for too low a role or a foreign Origin, and with 403 EMAIL_VERIFICATION_REQUIRED when an account without a verified address changes something.',
  },
}

export const IDEMPOTENCY_PARAMETERS: Record<string, Parameter> = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'A name of your choice for this request, unique in the project. A second request with it is refused with 409, so that a repeat after a lost answer does nothing twice. Make keys that cannot be guessed, such as UUIDs: who has the public key can use up others. A request that failed with 4xx frees its key.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
  },
  IdempotencyReplay: {
    name: 'Idempotency-Replay',
    in: 'header',
    required: false,
    description:
      'true: a repeat with the same Idempotency-Key and the same body gets the first answer again instead of 409.',
    schema: { type: 'boolean' },
  },
}

const count = (description: string): Header => ({ description, required: false, schema: { type: 'integer' } })

export const HEADERS: Record<string, Header> = {
  IdempotencyReplayed: {
    description: 'The value true when this is the first answer, returned again.',
    required: false,
    schema: { type: 'boolean', const: true },
  },
  RateLimitLimit: count(
    'Number of requests that the project may send in a minute with this kind of key. On answers to a valid key, unless there is no limit.',
  ),
  RateLimitRemaining: count('Number of them that are left.'),
  RateLimitReset: count('Seconds until the count starts again.'),
  RequestId: {
    description: 'Id of the request, by which the logs of the service name it.',
    required: true,
    schema: { type: 'string' },
  },
  Warning: {
    description:
      'Names fields of the body and parameters that the operation does not have and has ignored, each with the one that was likely meant.',
    required: false,
    schema: { type: 'string' },
  },
  RetryAfter: {
    description: 'Seconds to wait before trying again.',
    required: false,
    schema: { type: 'integer', minimum: 1 },
  },
}
