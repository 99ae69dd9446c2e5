import { checkInput } from '../../admission/check-input.ts'
import type { Ctx } from '../../ctx.ts'
import { type AppError, sessionEnded } from '../../errors.ts'
import type { AccountPage } from '../../pages/account-page.ts'
import {
  loginInput,
  MIN_PASSWORD,
  requestPasswordResetInput,
  resetPasswordInput,
  signupInput,
  verifyEmailInput,
} from '../auth/auth.input.ts'
import { requestPasswordReset, resetPassword } from '../auth/reset-password.ts'
import { NEEDS_CODE } from '../auth/second-factor.ts'
import { endOwnSession } from '../auth/sessions.ts'
import { requesterOf, signIn } from '../auth/sign-in.ts'
import { signUp } from '../auth/sign-up.ts'
import { requestVerification, verifyEmail } from '../auth/verify-email.ts'

/** What a browser has sent; a field that was left empty is not there. */
export type Fields = Record<string, string>

/** Where a form leads: to a page that says so, or to another address of the service, from its top. */
export type Outcome = { page: AccountPage } | { goTo: string }

export type AccountForm = {
  /** The page with the form; `refused` is why the service did not take what was entered. Null for a mere button. */
  page: ((ctx: Ctx, fields: Fields, refused?: AppError) => AccountPage) | null
  submit: (ctx: Ctx, fields: Fields) => Promise<Outcome>
}

export const ACCOUNT = 'auth/account'

const SIGN_IN = { href: 'auth/login', text: 'Sign in' }
const SIGN_UP = { href: 'auth/signup', text: 'Create an account' }
const FORGOTTEN = { href: 'auth/request-password-reset', text: 'I have forgotten the password' }
const GO_ON = { href: ACCOUNT, text: 'Go on to your account' }

const emailField = ({ email }: Fields) =>
  ({ name: 'email', label: 'Email', type: 'email', autocomplete: 'username', value: email }) as const

const PASSWORD = {
  name: 'password',
  label: 'Password',
  type: 'password',
  autocomplete: 'current-password',
} as const

const NEW_PASSWORD = {
  name: 'password',
  label: `New password, at least ${MIN_PASSWORD} characters`,
  type: 'password',
  autocomplete: 'new-password',
  minLength: MIN_PASSWORD,
} as const

const CODE = {
  name: 'code',
  label: 'Code of your authenticator app, or a recovery code',
  type: 'text',
  autocomplete: 'one-time-code',
} as const

/** The forms, by the name in the address of their page and of what they send. */
export const ACCOUNT_FORMS: ReadonlyMap<string, AccountForm> = new Map<string, AccountForm>([
  [
    'verify-email',
    {
      page: (_ctx, { token }, refused) =>
        token === undefined || isAbout(refused, 'token')
          ? deadLink(GO_ON)
          : {
              heading: 'Confirm your address',
              paragraphs: ['With this you show that mail to the address of your account reaches you.'],
              refusal: wordsOf(refused),
              form: { action: actionOf('verify-email'), button: 'Confirm the address', hidden: { token } },
            },
      async submit(ctx, fields) {
        requesterOf(ctx)
        const { email } = await verifyEmail(ctx, checkInput(verifyEmailInput, fields).token)
        const paragraphs = [`${email} is yours. Projects that had invited it have you as a member.`]
        return { page: { heading: 'Your address is confirmed', paragraphs, links: [GO_ON] } }
      },
    },
  ],
  [
    'reset-password',
    {
      page: (_ctx, { token }, refused) =>
        token === undefined || isAbout(refused, 'token')
          ? deadLink(FORGOTTEN)
          : {
              heading: 'Set a new password',
              paragraphs: ['It signs you out everywhere.'],
              refusal: wordsOf(refused),
              form: {
                action: actionOf('reset-password'),
                button: 'Set the password',
                fields: [NEW_PASSWORD],
                hidden: { token },
              },
            },
      async submit(ctx, fields) {
        const { token, password } = checkInput(resetPasswordInput, fields)
        await resetPassword(ctx, token, password)
        const paragraphs = ['You are signed out everywhere. Sign in with the new password.']
        return { page: { heading: 'Your new password is set', paragraphs, links: [SIGN_IN] } }
      },
    },
  ],
  [
    'request-password-reset',
    {
      page: (_ctx, fields, refused) => ({
        heading: 'Forgotten the password?',
        paragraphs: ['A mail brings you a link that sets another one.'],
        refusal: wordsOf(refused),
        form: {
          action: actionOf('request-password-reset'),
          button: 'Send the mail',
          fields: [emailField(fields)],
        },
        links: [SIGN_IN],
      }),
      async submit(ctx, fields) {
        await requestPasswordReset(ctx, checkInput(requestPasswordResetInput, fields).email)
        const paragraphs = [
          'If there is an account with this address, a mail with a link is on its way. The link works once, for an hour.',
          'An account gets at most three such mails an hour.',
        ]
        return { page: { heading: 'Look into your mail', paragraphs, links: [SIGN_IN] } }
      },
    },
  ],
  [
    'signup',
    {
      page: (ctx, fields, refused) => ({
        heading: 'Create an account',
        paragraphs: ['If a project has invited you, take the address that the invitation came to.'],
        refusal: wordsOf(refused),
        form: {
          action: actionOf('signup'),
          button: 'Create the account',
          fields: [emailField(fields), { ...NEW_PASSWORD, label: NEW_PASSWORD.label.replace('New p', 'P') }],
        },
        links: [{ ...SIGN_IN, text: 'I have an account: sign in' }, ...providers(ctx)],
      }),
      async submit(ctx, fields) {
        await signUp(ctx, checkInput(signupInput, fields))
        return { goTo: ACCOUNT }
      },
    },
  ],
  [
    'login',
    {
      page: (ctx, fields, refused) => ({
        heading: 'Sign in',
        paragraphs: [],
        refusal: needsCode(refused)
          ? 'Enter the password once more, with a code of your authenticator app or a recovery code.'
          : wordsOf(refused),
        form: {
          action: actionOf('login'),
          button: 'Sign in',
          fields: [
            emailField(fields),
            PASSWORD,
            ...(needsCode(refused) || fields.code !== undefined ? [CODE] : []),
          ],
        },
        links: [FORGOTTEN, SIGN_UP, ...providers(ctx)],
      }),
      async submit(ctx, fields) {
        await signIn(ctx, checkInput(loginInput, fields))
        return { goTo: ACCOUNT }
      },
    },
  ],
  [
    'request-verification',
    {
      page: null,
      async submit(ctx) {
        if (ctx.actor.kind !== 'user') throw sessionEnded()
        await requestVerification(ctx)
        const paragraphs = ['Open the link in the mail: it works once, for an hour.']
        return { page: { heading: 'Look into your mail', paragraphs, links: [GO_ON] } }
      },
    },
  ],
  [
    'logout',
    {
      page: null,
      async submit(ctx) {
        await endOwnSession(ctx)
        return { goTo: SIGN_IN.href }
      },
    },
  ],
])

export const actionOf = (form: string): string => `auth/forms/${form}`

const deadLink = (next: { href: string; text: string }): AccountPage => ({
  heading: 'This link does not work',
  paragraphs: ['It was used, is older than an hour, or a part of it is missing. Ask for another mail.'],
  links: [next],
})

const providers = ({ config: { oauth } }: Ctx) => [
  ...(oauth.github ? [{ href: 'auth/oauth/github', text: 'Go on with GitHub' }] : []),
  ...(oauth.google ? [{ href: 'auth/oauth/google', text: 'Go on with Google' }] : []),
]

const isAbout = (refused: AppError | undefined, field: string): boolean =>
  refused?.extras.errors?.some((error) => error.field === field) === true

const needsCode = (refused: AppError | undefined): boolean => refused?.extras.details === NEEDS_CODE

const LABELS: Record<string, string> = { email: 'The address', password: 'The password', code: 'The code' }

/** The reason for people: suggestions of the API name its operations. */
function wordsOf(refused: AppError | undefined): string | undefined {
  const { errors } = refused?.extras ?? {}
  if (!errors) return refused?.message
  return errors.map(({ field, message }) => `${LABELS[field] ?? field} ${message}.`).join(' ')
}
