import { builder } from '../../graphql/builder.ts'
import { inputFromZod } from '../../graphql/inputs/zod-input.ts'
import { post } from '../../graphql/rest-route.ts'
import type { EmailVerification as Verification } from './verify.rules.ts'
import { verifyEmail, verifyEmailInput } from './verify.ts'

const EmailVerification = builder.objectRef<Verification>('EmailVerification').implement({
  description: 'What is known of an email address.',
  fields: (t) => ({
    email: t.exposeString('email', { description: 'The address, in lower case.' }),
    valid: t.exposeBoolean('valid', {
      description:
        'The domain exists and takes mail, and the address is not a likely typo. Disposable addresses can be valid. False, too, when the DNS could not be asked.',
    }),
    isDisposable: t.exposeBoolean('isDisposable', {
      description: 'The domain gives out addresses for a short time.',
    }),
    isAlias: t.exposeBoolean('isAlias', {
      description:
        'The address is one of a service that forwards mail to another address, such as SimpleLogin, addy.io, DuckDuckGo or Hide My Email. Role addresses such as info@ are not meant.',
    }),
    isTypo: t.exposeBoolean('isTypo', {
      description: 'The domain looks like a misspelling of another one.',
    }),
    isPlusAddressed: t.exposeBoolean('isPlusAddressed', {
      description: 'The part before the @ has a tag, as in ada+shop@example.org.',
    }),
    isPersonalEmail: t.exposeBoolean('isPersonalEmail', {
      description: 'The domain is one of a provider where anybody can have a mailbox, such as gmail.com.',
    }),
    domainExists: t.exposeBoolean('domainExists', { description: 'The DNS knows the domain.' }),
    hasWebsite: t.exposeBoolean('hasWebsite', {
      description: 'The domain, or www in it, has an IP address. It does not count for valid.',
    }),
    hasMxRecords: t.exposeBoolean('hasMxRecords', {
      description: 'The domain takes mail: it has an MX record, or without one an IP address.',
    }),
    suggestedEmail: t.exposeString('suggestedEmail', {
      nullable: true,
      description: 'The address that was probably meant, when this one is a likely typo.',
    }),
    reasons: t.exposeStringList('reasons', {
      description: 'Sentences for people; the wording may change.',
    }),
  }),
})

builder.queryField('emailVerification', (t) =>
  t.field({
    description:
      'Verifies an email address by its form, by lists of providers and by the DNS. Nothing is sent to the address.',
    type: EmailVerification,
    access: 'secretKey',
    rest: post('/v1/verify', 'Public API', { wrapped: true }),
    args: { input: t.arg({ type: inputFromZod('VerifyEmailInput', verifyEmailInput), required: true }) },
    resolve: (_root, { input }, ctx) => verifyEmail(ctx, input),
  }),
)
