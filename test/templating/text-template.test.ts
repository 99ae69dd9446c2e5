import Mustache from 'mustache'
import * as assert from 'uvu/assert'
import { textFromHtml } from '../../src/templating/text-part.ts'
import { textTemplateOf } from '../../src/templating/text-template.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

const toText = async (html: string) => textFromHtml(html)

const DATA = {
  name: 'Ada & Grace',
  url: 'https://shop.example/?a=1&b=2',
  items: [{ title: 'Tea' }, { title: '<Coffee>' }],
  none: [],
  yes: true,
}

const SAME: [what: string, body: string][] = [
  ['names', '<h1>Hello {{name}}</h1><p>Good to see you, {{name}}.</p>'],
  ['a link with a name in it', '<p><a href="https://x.example/u/{{name}}">Your page</a></p>'],
  ['a list', '<ul>{{#items}}<li>{{title}}</li>{{/items}}</ul><p>End</p>'],
  ['a section that is not shown', '<p>Hello</p>{{^yes}}<p>No</p>{{/yes}}{{#yes}}<p>Yes</p>{{/yes}}'],
  ['a comment', '<p>Hello{{! not shown }} you</p>'],
  [
    'a table',
    '<table><tr><td>{{name}}</td><td>b</td></tr>{{#items}}<tr><td>{{title}}</td></tr>{{/items}}</table>',
  ],
]

const NONE: [what: string, body: string][] = [
  ['markup from data', '<p>{{{name}}}</p>'],
  ['markup from data with &', '<p>{{& name}}</p>'],
  ['other delimiters', '<p>{{=<% %>=}}<% name %></p>'],
  ['a body that is text', 'Hello {{name}}'],
  ['braces that are written as entities', '<p>&#123;&#123;name}}</p>'],
  ['a section inside of what is not shown', '<style>{{#yes}}a{}{{/yes}}</style><p>Hello</p>'],
]

const squeezed = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

scenario('The template of a text part', nothingShared, (test) => {
  for (const [what, body] of SAME) {
    test(`says the same as the converted message: ${what}`, async () => {
      const template = await textTemplateOf(body, toText)
      assert.ok(template !== null, 'there is no template')
      const text = Mustache.render(template, DATA, {}, { escape: String })
      assert.is(squeezed(text), squeezed(textFromHtml(Mustache.render(body, DATA))))
    })
  }

  for (const [what, body] of NONE) {
    test(`is left to each message for ${what}`, async () => {
      assert.is(await textTemplateOf(body, toText), null)
    })
  }
})
