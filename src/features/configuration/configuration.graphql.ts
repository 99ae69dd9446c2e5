import { builder } from '../../graphql/builder.ts'
import { get } from '../../graphql/rest-route.ts'
import { type PublicConfiguration, publicConfiguration } from './configuration.ts'

type Features = PublicConfiguration['features']

const PublicUrlsRef = builder.objectRef<PublicConfiguration['urls']>('PublicUrls').implement({
  description: 'Addresses of the parts of this service.',
  fields: (t) => ({
    api: t.exposeString('api', {
      description: 'Public address of the API, in front of the paths of its operations.',
    }),
    dashboard: t.exposeString('dashboard', {
      nullable: true,
      description: 'Origin of the dashboard, from which browsers may call everything; null without one.',
    }),
  }),
})

const BillingFeatureRef = builder.objectRef<Features['billing']>('BillingFeature').implement({
  description: 'Settings of billing.',
  fields: (t) => ({
    enabled: t.exposeBoolean('enabled', { description: 'Whether projects pay for what they use.' }),
  }),
})

const StorageFeatureRef = builder.objectRef<Features['storage']>('StorageFeature').implement({
  description: 'Settings of the store of uploaded images.',
  fields: (t) => ({
    enabled: t.exposeBoolean('enabled', { description: 'Whether images can be uploaded.' }),
    kind: t.exposeString('kind', {
      description: 'Kind of the store: local (the service serves the images itself) or s3.',
    }),
  }),
})

const AuthProvidersRef = builder.objectRef<Features['authProviders']>('AuthProviders').implement({
  description: 'Providers through which people can sign in, besides with a password.',
  fields: (t) => ({
    github: t.exposeBoolean('github', { description: 'Whether people can sign in through GitHub.' }),
    google: t.exposeBoolean('google', { description: 'Whether people can sign in through Google.' }),
  }),
})

const SignupFeatureRef = builder.objectRef<Features['signup']>('SignupFeature').implement({
  description: 'Settings of signing up.',
  fields: (t) => ({
    disabled: t.exposeBoolean('disabled', {
      description: 'Whether people cannot create accounts themselves.',
    }),
  }),
})

const SmtpFeatureRef = builder.objectRef<Features['smtp']>('SmtpFeature').implement({
  description: 'Settings of sending by handing mail in over SMTP.',
  fields: (t) => ({
    enabled: t.exposeBoolean('enabled', { description: 'Whether mail can be handed in over SMTP.' }),
    domain: t.exposeString('domain', {
      nullable: true,
      description: 'Host name of the SMTP server; null when it is off.',
    }),
    ports: t.exposeIntList('ports', { description: 'TCP ports of the SMTP server; none when it is off.' }),
  }),
})

const PublicFeaturesRef = builder.objectRef<Features>('PublicFeatures').implement({
  description: 'Features of this service, and whether they are on.',
  fields: (t) => ({
    billing: t.expose('billing', { type: BillingFeatureRef, description: 'Settings of billing.' }),
    storage: t.expose('storage', { type: StorageFeatureRef, description: 'Store of uploaded images.' }),
    authProviders: t.expose('authProviders', {
      type: AuthProvidersRef,
      description: 'Providers through which people can sign in.',
    }),
    signup: t.expose('signup', { type: SignupFeatureRef, description: 'Settings of signing up.' }),
    smtp: t.expose('smtp', { type: SmtpFeatureRef, description: 'Sending by handing mail in over SMTP.' }),
  }),
})

const PublicConfigurationRef = builder.objectRef<PublicConfiguration>('PublicConfiguration').implement({
  description: 'Configuration of this service, as far as anyone may know it.',
  fields: (t) => ({
    environment: t.exposeString('environment', {
      description: 'Environment that the service runs in: development, test or production.',
    }),
    urls: t.expose('urls', { type: PublicUrlsRef, description: 'Addresses of the parts of this service.' }),
    features: t.expose('features', {
      type: PublicFeaturesRef,
      description: 'Features, and whether they are on.',
    }),
  }),
})

builder.queryField('config', (t) =>
  t.field({
    description: 'Configuration of this service: its addresses, and the features that are on. Needs no key.',
    type: PublicConfigurationRef,
    access: 'anyone',
    rest: get('/config', 'Configuration'),
    resolve: (_root, _args, { config }) => publicConfiguration(config),
  }),
)
