import * as assert from 'uvu/assert'
import { LANGUAGES, type Language } from '../../../src/lib/text/languages.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { delivered, templateOf } from '../sending/send-support.ts'
import { newsletter, oneClick } from './subscription-support.ts'

/** What a reader meets first in each language. */
const SPOKEN: Record<
  Language,
  { footer: string; unsubscribe: string; gone: string; dead: string; day: string }
> = {
  en: {
    footer: 'You receive this email from Acme & Söhne because you have subscribed.',
    unsubscribe: 'Unsubscribe',
    gone: 'You are unsubscribed',
    dead: 'This link does not work.',
    day: 'Unsubscribed since 3 March 2031.',
  },
  de: {
    footer: 'Sie erhalten diese E-Mail von Acme & Söhne, weil Sie sich angemeldet haben.',
    unsubscribe: 'Abmelden',
    gone: 'Sie sind abgemeldet',
    dead: 'Dieser Link funktioniert nicht.',
    day: 'Abgemeldet seit dem 3. März 2031.',
  },
  fr: {
    footer: 'Cet e-mail vous est envoyé par Acme & Söhne à la suite de votre inscription.',
    unsubscribe: 'Se désabonner',
    gone: 'Votre désabonnement est pris en compte',
    dead: 'Ce lien ne fonctionne pas.',
    day: 'Désabonnement pris en compte le 3 mars 2031.',
  },
  es: {
    footer: 'Usted recibe este correo de Acme & Söhne porque se ha suscrito.',
    unsubscribe: 'Cancelar la suscripción',
    gone: 'Su suscripción está cancelada',
    dead: 'Este enlace no funciona.',
    day: 'Suscripción cancelada el 3 de marzo de 2031.',
  },
  nl: {
    footer: 'U ontvangt deze e-mail van Acme & Söhne omdat u zich hebt aangemeld.',
    unsubscribe: 'Afmelden',
    gone: 'U bent afgemeld',
    dead: 'Deze link werkt niet.',
    day: 'Afgemeld sinds 3 maart 2031.',
  },
  pt: {
    footer: 'Recebe este e-mail de Acme & Söhne porque se inscreveu.',
    unsubscribe: 'Cancelar a inscrição',
    gone: 'A sua inscrição está cancelada',
    dead: 'Este link não funciona.',
    day: 'Inscrição cancelada em 3 de março de 2031.',
  },
}

const BROWSER = { accept: 'text/html' }

const acme = ({ project }: Service) => ({ name: 'Acme & Söhne', email: `news@${project.domain}` })

const mailTo = (service: Service, to: string, locale?: unknown) =>
  newsletter(service, to, { from: acme(service), ...(locale !== undefined && { data: { locale } }) })

/** The language that a piece of markup is marked with. */
const markedAs = (html: string) => /<(?:html|p) lang="(\w+)"/.exec(html)?.[1]

const pageOf = ({ call }: Service, token: string) => call('GET', `/manage/${token}`, { headers: BROWSER })

scenario('Footers and pages', startService, (test) => {
  for (const language of LANGUAGES) {
    const { footer, unsubscribe, gone, day } = SPOKEN[language]

    test(`speak ${language} to whose locale it is`, async (service) => {
      const { contact, email, token } = await mailTo(service, `${language}@example.org`, language)
      assert.is(markedAs(email.html), language)
      const { message } = await delivered(service, email.id)
      assert.match(message.html ?? '', `>${footer.replace('&', '&amp;')}<br>`)
      const lines = (message.text ?? '').split('\n')
      assert.ok((message.text ?? '').replaceAll('\n', ' ').includes(footer), message.text)
      for (const page of ['unsubscribe', 'manage']) {
        assert.is(
          lines.filter((line) => line.endsWith(`[${service.url}/${page}/${token}]`)).length,
          1,
          message.text,
        )
      }
      assert.ok(lines.some((line) => line.startsWith(unsubscribe)))
      await oneClick(service, token)
      await service.sql(
        `update events set created_at = '2031-03-03T23:59:59Z' where contact_id = $1 and name = 'contact.unsubscribed'`,
        [contact.id],
      )
      const { text } = await pageOf(service, token)
      assert.is(markedAs(text), language)
      for (const words of [`<h1>${gone}</h1>`, day, 'Acme &amp; Söhne', email.from])
        assert.ok(text.includes(words), text)
    })
  }

  for (const locale of ['de-AT', 'DE', 'de_ch', 'de_DE.UTF-8']) {
    test(`take ${locale} for German`, async (service) => {
      const { email, token } = await mailTo(service, 'variants@example.org', locale)
      assert.is(markedAs(email.html), 'de')
      assert.is(markedAs((await pageOf(service, token)).text), 'de')
    })
  }

  for (const locale of ['it', 'tlh', '', 7, true, { de: 'de' }, ['de'], '<de>', 'd'.repeat(5_000)]) {
    test(`speak the project's language to the locale ${JSON.stringify(locale).slice(0, 20)}`, async (service) => {
      await service.sql(`update projects set language = 'nl' where id = $1`, [service.project.id])
      // What is known of a key is asked for again after some seconds.
      service.clock.advance(10_000)
      const { email, token } = await mailTo(service, `${typeof locale}@example.org`, locale)
      assert.is(markedAs(email.html), 'nl')
      assert.is(markedAs((await pageOf(service, token)).text), 'nl')
    })
  }

  test('speak English where the project has a language that they do not know', async (service) => {
    await service.sql(`update projects set language = 'sv' where id = $1`, [service.project.id])
    service.clock.advance(10_000)
    const { email, token } = await mailTo(service, 'swedish@example.org')
    assert.is(markedAs(email.html), 'en')
    assert.is(markedAs((await pageOf(service, token)).text), 'en')
  })

  test('follow the contact when its locale changes', async (service) => {
    const { token } = await mailTo(service, 'moves@example.org', 'es')
    assert.is(markedAs((await pageOf(service, token)).text), 'es')
    await mailTo(service, 'moves@example.org', 'pt-BR')
    assert.is(markedAs((await pageOf(service, token)).text), 'pt')
  })

  test('are shown by the preview as they are sent', async (service) => {
    const key = service.project.secret
    const template = await templateOf(service, { type: 'MARKETING', fromName: 'Shop <b>' })
    const { contact } = await mailTo(service, 'preview@example.org', 'fr-CA')
    const query = 'query ($input: PreviewTemplateInput!) { previewTemplate(input: $input) { html text } }'
    const input = { templateId: template, contactId: contact.id }
    const { body, text } = await service.graphql(query, { input }, { key })
    assert.match(body.data?.previewTemplate.html ?? text, '<p lang="fr"')
    assert.match(body.data?.previewTemplate.html, 'Cet e-mail vous est envoyé par Shop &lt;b&gt; à')
    assert.match(body.data?.previewTemplate.text, 'Cet e-mail vous est envoyé par Shop <b> à')
  })

  test('name the address of a sender without a name', async (service) => {
    const { email } = await newsletter(service, 'nameless@example.org', { data: { locale: 'en' } })
    assert.match(email.html, `You receive this email from hello@${service.project.domain} because`)
  })
})

scenario(
  'The page for a link that does not work',
  () => startService({ ROLES: 'http' }),
  (test) => {
    for (const language of LANGUAGES) {
      test(`speaks ${language} to a browser that prefers it`, async ({ call }) => {
        const headers = { ...BROWSER, 'accept-language': `it,${language}-XX;q=0.9,en;q=0.1` }
        for (const path of ['/unsubscribe/x', '/subscribe', '/manage/']) {
          const { status, text } = await call('GET', path, { headers })
          assert.is(status, 404)
          assert.is(markedAs(text), language)
          assert.match(text, `<h1>${SPOKEN[language].dead}</h1>`)
        }
        const pressed = await call('POST', '/unsubscribe/x', { headers })
        assert.is(pressed.status, 404)
        assert.match(pressed.text, `<h1>${SPOKEN[language].dead}</h1>`)
      })
    }

    test('speaks English to others', async ({ call }) => {
      for (const acceptLanguage of ['ja', '*', ';;q=,', 'de;q=0']) {
        const { text } = await call('GET', '/manage/x', {
          headers: { ...BROWSER, 'accept-language': acceptLanguage },
        })
        assert.is(markedAs(text), 'en', acceptLanguage)
      }
    })
  },
)

const limited = () => startService({ ROLES: 'http', STRANGER_RATE_LIMIT_PER_MINUTE: '3' })

scenario('The page for too many requests', limited, (test) => {
  test('speaks the language of the browser, and says nothing of keys', async (service) => {
    const { token } = await newsletter(service, 'many@example.org')
    const headers = { ...BROWSER, 'accept-language': 'de' }
    for (let count = 0; count < 3; count += 1) await pageOf(service, token)
    const { status, text, headers: answered } = await service.call('GET', `/manage/${token}`, { headers })
    assert.is(status, 429)
    assert.ok(Number(answered.get('retry-after')) > 0)
    assert.match(text, '<h1>Es gab zu viele Anfragen.</h1>')
    assert.not.match(text, 'API')
  })
})
