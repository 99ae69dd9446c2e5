import { builder } from '../../graphql/builder.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { post } from '../../graphql/rest-route.ts'
import { verifyEmailInput } from './verify.input.ts'
import type { EmailVerification as Verification } from './verify.rules.ts'
import { verifyEmail } from './verify.ts'

const EmailVerificationRef = builder.objectRef<Verification>('EmailVerification').implement({
  description: 'Facts about an email address, and whether mail to it is likely to arrive.',
  fields: (t) => ({
    email: t.exposeString('email', { description: 'Address that was verified, trimmed and in lower case.' }),
    valid: t.exposeBoolean('valid', {
      description:
        'Whether the domain exists and takes mail, and the address is not a likely typo. Disposable addresses can be valid. False, too, when the DNS could not be asked.',
    }),
    isDisposable: t.exposeBoolean('isDisposable', {
      description: 'Whether the domain gives out addresses for a short time.',
    }),
    isAlias: t.exposeBoolean('isAlias', {
      description:
        'Whether the address is one of a service that forwards mail to another address, such as SimpleLogin, addy.io, DuckDuckGo or Hide My Email. Role addresses such as info@ are not meant.',
    }),
    isTypo: t.exposeBoolean('isTypo', {
      description: 'Whether the domain looks like a misspelling of another one.',
    }),
    isPlusAddressed: t.exposeBoolean('isPlusAddressed', {
      description: 'Whether the part before the @ has a tag, as in ada+shop@example.org.',
    }),
    isPersonalEmail: t.exposeBoolean('isPersonalEmail', {
      description:
        'Whether the domain belongs to a provider where anyone can have a mailbox, such as gmail.com.',
    }),
    domainExists: t.exposeBoolean('domainExists', {
      description: 'Whether the DNS knows the domain: it has NS or SOA records.',
    }),
    hasWebsite: t.exposeBoolean('hasWebsite', {
      description: 'Whether the domain, or www in it, has an IP address. It does not count for valid.',
    }),
    hasMxRecords: t.exposeBoolean('hasMxRecords', {
      description: 'Whether the domain takes mail: it has an MX record, or without one an IP address.',
    }),
    suggestedEmail: t.exposeString('suggestedEmail', {
      nullable: true,
      description: 'Address that was probably meant, when this one is a likely typo; null otherwise.',
    }),
    reasons: t.exposeStringList('reasons', {
      description: 'Sentences for people that explain the result; the wording may change.',
    }),
  }),
})

builder.queryField('emailVerification', (t) =>
  t.field({
    description:
      'Verifies an email address by its form, by lists of providers and by the DNS. Nothing is sent to the address.',
    type: EmailVerificationRef,
    access: 'secretKey',
    rest: post('/v1/verify', 'Public API', { wrapped: true }),
    args: { input: t.arg(inputArgument('VerifyEmailInput', verifyEmailInput)) },
    resolve: (_root, { input }, ctx) => verifyEmail(ctx, input),
  }),
)
