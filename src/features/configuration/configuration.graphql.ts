import { builder } from '../../graphql/builder.ts'
import { get } from '../../graphql/rest-route.ts'
import { type PublicConfiguration, publicConfiguration } from './configuration.ts'

type Features = PublicConfiguration['features']

const PublicUrls = builder.objectRef<PublicConfiguration['urls']>('PublicUrls').implement({
  description: 'Where the parts of this service are.',
  fields: (t) => ({
    api: t.exposeString('api'),
    dashboard: t.exposeString('dashboard', {
      nullable: true,
      description: 'The origin that browsers may call everything from; null when there is none.',
    }),
  }),
})

const BillingFeature = builder.objectRef<Features['billing']>('BillingFeature').implement({
  description: 'Whether projects pay for what they use.',
  fields: (t) => ({ enabled: t.exposeBoolean('enabled') }),
})

const StorageFeature = builder.objectRef<Features['storage']>('StorageFeature').implement({
  description: 'Where uploaded images are kept.',
  fields: (t) => ({
    enabled: t.exposeBoolean('enabled'),
    kind: t.exposeString('kind', { description: 'local (the service serves them itself) or s3.' }),
  }),
})

const AuthProviders = builder.objectRef<Features['authProviders']>('AuthProviders').implement({
  description: 'Through whom people can sign in, besides with a password.',
  fields: (t) => ({ github: t.exposeBoolean('github'), google: t.exposeBoolean('google') }),
})

const SignupFeature = builder.objectRef<Features['signup']>('SignupFeature').implement({
  description: 'Whether people can make accounts themselves.',
  fields: (t) => ({ disabled: t.exposeBoolean('disabled') }),
})

const SmtpFeature = builder.objectRef<Features['smtp']>('SmtpFeature').implement({
  description: 'Where mail can be handed in over SMTP.',
  fields: (t) => ({
    enabled: t.exposeBoolean('enabled'),
    domain: t.exposeString('domain', { nullable: true, description: 'The name of the server.' }),
    ports: t.exposeIntList('ports'),
  }),
})

const PublicFeatures = builder.objectRef<Features>('PublicFeatures').implement({
  description: 'What is turned on here.',
  fields: (t) => ({
    billing: t.expose('billing', { type: BillingFeature }),
    storage: t.expose('storage', { type: StorageFeature }),
    authProviders: t.expose('authProviders', { type: AuthProviders }),
    signup: t.expose('signup', { type: SignupFeature }),
    smtp: t.expose('smtp', { type: SmtpFeature }),
  }),
})

const PublicConfigurationType = builder.objectRef<PublicConfiguration>('PublicConfiguration').implement({
  description: 'How this service is set up, as far as anyone may know.',
  fields: (t) => ({
    environment: t.exposeString('environment', { description: 'development, test or production.' }),
    urls: t.expose('urls', { type: PublicUrls }),
    features: t.expose('features', { type: PublicFeatures }),
  }),
})

builder.queryField('config', (t) =>
  t.field({
    description: 'How this service is set up: its addresses, and what is turned on. Needs no key.',
    type: PublicConfigurationType,
    access: 'anyone',
    rest: get('/config', 'Configuration'),
    resolve: (_root, _args, { config }) => publicConfiguration(config),
  }),
)
