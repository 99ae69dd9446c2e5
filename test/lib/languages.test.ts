import * as assert from 'uvu/assert'
import { chosenLanguage, languageOf, preferredLanguage } from '../../src/lib/text/languages.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

scenario('The language', nothingShared, (test) => {
  test('is that of a tag, however it is written', () => {
    for (const tag of ['de', 'DE', 'de-AT', 'de_AT', 'de-Latn-DE-1996', ' de-ch ', 'de_DE.UTF-8']) {
      assert.is(languageOf(tag), 'de', tag)
    }
    assert.is(languageOf('pt-BR'), 'pt')
  })

  test('is none of a tag of others, and of what is no tag', () => {
    const others = ['it', 'den', 'd', '', '-de', 'x-de', 'German', `de-${'x'.repeat(200)}`]
    for (const tag of [...others, 1, true, null, undefined, ['de'], { de: 1 }]) {
      assert.is(languageOf(tag), null, JSON.stringify(tag))
    }
  })

  test('is that of the first tag that names one of ours, or English', () => {
    assert.is(chosenLanguage('fr-CA', 'de'), 'fr')
    assert.is(chosenLanguage('it', 'de'), 'de')
    assert.is(chosenLanguage(undefined, 7, 'ja'), 'en')
  })

  test('of a browser is the one that it prefers', () => {
    for (const [header, language] of [
      ['de-AT,de;q=0.9,en;q=0.8', 'de'],
      ['it-IT, es; q=0.5, nl;q=0.7', 'nl'],
      ['en;q=0.1,pt;q=1.0', 'pt'],
      ['fr;q=0, en;q=0.1', 'en'],
      ['es,fr', 'es'],
      ['fr;Q=0.2;x=1,nl;q=0.3', 'nl'],
      ['nl;q=1e9,fr;q=x,es;q=0.1', 'es'],
      ['*', null],
      ['it', null],
      ['fr;q=0', null],
      [',;,q=1', null],
      [undefined, null],
    ] as const) {
      assert.is(preferredLanguage(header), language, header)
    }
  })
})
