import type { Actor } from '../../admission/access.ts'
import { type Ctx, createCtx } from '../../ctx.ts'
import { AppError, notFound } from '../../errors.ts'
import { readBody } from '../../http/body.ts'
import { type Exchange, type Headers, reply, replyHtml } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import type { ServerRoute } from '../../http/server.ts'
import { type AccountPage, accountPage } from '../../pages/account-page.ts'
import { listOwnProjects } from '../own-projects/own-projects.ts'
import { ACCOUNT, ACCOUNT_FORMS, type AccountForm, actionOf, type Fields } from './account-forms.ts'

/** Bytes of a form: an address, a password, a token. */
const MAX_FORM_BYTES = 16 * 1024

/** A browser leaves Origin out of the forms of a page that tells nobody where it is; the token in the address stays untold. */
const HEADERS: Headers = { 'referrer-policy': 'strict-origin' }

/** What a person can put right; everything else is the usual page of an error. */
const REFUSALS = [401, 403, 409, 422, 429]

/**
 * The pages behind the links in mails of the service, where there is no dashboard that has such pages. Opening one changes
 * nothing, because scanners open every link: the button does.
 */
export function accountPageRoutes({ services, admission, strangers }: HttpParts): ServerRoute[] {
  const { basePath, dashboardUrl } = services.config
  if (dashboardUrl !== null) return []
  const top = `${basePath}/`
  const ctxOf = (exchange: Exchange, actor: Actor): Ctx =>
    createCtx(services, actor, exchange.requestId, { caller: admission.callerOf(exchange) })
  const show = (exchange: Exchange, page: AccountPage, status = 200, headers: Headers = {}) =>
    replyHtml(exchange, status, accountPage(page, top), { ...HEADERS, ...headers })
  const goTo = (exchange: Exchange, path: string) =>
    reply(exchange, 303, { location: top + path, 'cache-control': 'no-store' }, null)

  const showForm = (name: string, page: NonNullable<AccountForm['page']>): ServerRoute => ({
    method: 'GET',
    path: `/auth/${name}`,
    isPage: true,
    handle(exchange) {
      const { query } = exchange
      show(exchange, page(ctxOf(exchange, { kind: 'anonymous' }), fieldsIn(query)))
    },
  })

  async function submit(exchange: Exchange, name: string): Promise<void> {
    const form = ACCOUNT_FORMS.get(name)
    if (!form) throw notFound('The form')
    services.sessions.assertOwnPage(exchange.request)
    const ctx = ctxOf(exchange, await admission.admit(exchange, false))
    const fields = await readFields(exchange)
    try {
      const outcome = await form.submit(ctx, fields)
      if ('goTo' in outcome) goTo(exchange, outcome.goTo)
      else show(exchange, outcome.page)
    } catch (error) {
      if (!form.page || !(error instanceof AppError) || !REFUSALS.includes(error.statusCode)) throw error
      show(exchange, form.page(ctx, fields, error), error.statusCode, error.extras.headers)
    }
  }

  async function showAccount(exchange: Exchange): Promise<void> {
    strangers.count(exchange.request, services.now())
    const actor = await services.sessions.visitor(exchange.request)
    if (!actor) return goTo(exchange, 'auth/login')
    const ctx = ctxOf(exchange, actor)
    show(exchange, ownPage(ctx, actor.user, await listOwnProjects(ctx)))
  }

  return [
    ...[...ACCOUNT_FORMS].flatMap(([name, { page }]) => (page ? [showForm(name, page)] : [])),
    { method: 'GET', path: `/${ACCOUNT}`, isPage: true, handle: showAccount },
    {
      method: 'POST',
      path: `/${actionOf(':form')}`,
      isPage: true,
      handle: (exchange, { form = '' }) => submit(exchange, form),
    },
  ]
}

/** What a signed-in user sees, as long as there is no dashboard. */
function ownPage(
  { config }: Ctx,
  { email, verified }: { email: string; verified: boolean },
  projects: { name: string; role: string }[],
): AccountPage {
  const waits = !verified && config.serviceMail !== null
  return {
    heading: waits ? 'Confirm your address' : 'You are signed in',
    paragraphs: waits
      ? [`A mail to ${email} has a link that confirms the address. Until then you can only look around.`]
      : [
          `This is the account of ${email}.`,
          projects.length === 0 ? 'It belongs to no project.' : 'It belongs to these projects:',
        ],
    projects,
    form: waits
      ? { action: actionOf('request-verification'), button: 'Send another mail' }
      : { action: actionOf('logout'), button: 'Sign out' },
    links: [{ href: 'docs', text: 'Read what the API can do' }],
  }
}

async function readFields(exchange: Exchange): Promise<Fields> {
  const type = exchange.request.headers['content-type'] ?? ''
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'This takes a form of a page of the service.')
  }
  const body = await readBody(exchange, MAX_FORM_BYTES)
  return fieldsIn(new URLSearchParams(body.toString('utf8')))
}

const fieldsIn = (given: URLSearchParams): Fields =>
  Object.fromEntries([...given].filter(([, value]) => value !== ''))
