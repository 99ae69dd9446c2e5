import { escapeHtml } from '../lib/text/html.ts'
import { brand, htmlPage } from '../pages/page.ts'
import { type Direction, type FieldLine, fieldLines, rulesInWords, typeInWords } from './docs-fields.ts'
import type {
  Answer,
  Media,
  OpenApiDocument,
  Operation,
  Parameter,
  Reference,
  Schema,
} from './openapi-types.ts'

type Entry = { method: string; path: string; operation: Operation }

/** The API description as one page for people, without scripts. */
export function docsPage(document: OpenApiDocument): string {
  const { info, tags } = document
  const sections = tags.map(({ name }) => ({ name, entries: entriesOf(document, name) }))
  return htmlPage({
    title: info.title,
    top: '',
    style: 'docs',
    body: `<a class="skip button" href="#top">Skip to the text</a>
<nav aria-label="Operations">
${brand()}
${sections.map(({ name, entries }) => `<h2>${escapeHtml(name)}</h2>\n${list(entries.map(link))}`).join('\n')}
<h2>More</h2>
${list(['<a href="#errors">Errors</a>', '<a href="openapi.json">openapi.json</a>'])}
</nav>
<main id="top">
<h1>${escapeHtml(info.title)} <small>${escapeHtml(info.version)}</small></h1>
${prose(info.description)}
${sections.map(({ name, entries }) => sectionOf(document, name, entries)).join('\n')}
<section id="errors"><h2>Errors</h2>
${fieldTable(document, { $ref: '#/components/schemas/Error' }, 'answer')}
</section>
</main>`,
  })
}

function entriesOf({ paths }: OpenApiDocument, tag: string): Entry[] {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  return all.filter(({ operation }) => operation.tags.includes(tag))
}

const link = ({ method, path, operation }: Entry): string =>
  `<a href="#${escapeHtml(operation.operationId)}">${badge(method)} ${escapeHtml(path)}</a>`

const badge = (method: string): string => `<b class="${method.toLowerCase()}">${method}</b>`

const list = (items: string[]): string => `<ul>${items.map((item) => `<li>${item}</li>`).join('\n')}</ul>`

const sectionOf = (document: OpenApiDocument, name: string, entries: Entry[]): string =>
  `<section><h2>${escapeHtml(name)}</h2>\n${entries.map((entry) => articleOf(document, entry)).join('\n')}</section>`

function articleOf(document: OpenApiDocument, { method, path, operation }: Entry): string {
  const body = bodyOf(operation)?.schema
  return `<article id="${escapeHtml(operation.operationId)}">
<h3>${badge(method)} <code>${escapeHtml(path)}</code></h3>
${prose(operation.description)}
<p>${keysOf(operation)}</p>
<pre>${escapeHtml(curlOf(document, { method, path, operation }))}</pre>
${parameterTable(document, operation)}
${body ? `<h4>Body</h4>\n${fieldTable(document, body, 'request')}` : ''}
<h4>Answers</h4>
${answersOf(document, operation)}
</article>`
}

const KEY_NAMES: Record<string, string> = {
  publicKey: 'public key',
  secretKey: 'secret key',
  session: 'session of a signed-in user',
}
const KEY_PREFIXES: Record<string, string> = { publicKey: 'pk_…', secretKey: 'sk_…' }

function keysOf({ security }: Operation): string {
  const names = security.flatMap((scheme) => Object.keys(scheme).map((name) => KEY_NAMES[name] ?? name))
  return names.length === 0 ? 'Needs no key.' : `Needs the ${escapeHtml(names.join(' or the '))}.`
}

/** An id as the service makes them (UUID v7). */
const SAMPLE_ID = '0197a3c2-5e00-7000-8000-4d61696c7772'

/** A command that works once the key and the ids are filled in. */
export function curlOf(document: OpenApiDocument, { method, path, operation }: Entry): string {
  const parameters = operation.parameters.map((parameter) => parameterIn(document, parameter))
  const filled = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) =>
    parameters.some((one) => one.name === name && one.schema.format === 'uuid') ? SAMPLE_ID : name,
  )
  const [scheme = {}] = operation.security
  const keys = Object.keys(scheme).map((name) =>
    name === 'session' ? `-b 'token=…'` : `-H 'Authorization: Bearer ${KEY_PREFIXES[name] ?? '…'}'`,
  )
  return [
    `curl -X ${method} ${document.servers[0]?.url ?? ''}${filled}`,
    ...keys,
    ...bodyOptionsOf(document, operation),
  ].join(' \\\n  ')
}

const bodyOf = ({ requestBody }: Operation): Media | undefined => Object.values(requestBody?.content ?? {})[0]

/** The options of curl that send a body. */
function bodyOptionsOf({ components }: OpenApiDocument, { requestBody }: Operation): string[] {
  if (!requestBody) return []
  const form = requestBody.content['multipart/form-data']
  if (form) {
    const { properties = {} } = components.schemas[form.schema.$ref?.split('/').at(-1) ?? ''] ?? {}
    return Object.keys(properties).map((field) => `-F '${field}=@${field}'`)
  }
  const example = requestBody.content['application/json']?.example
  const json = JSON.stringify(example ?? {}, null, 2).replaceAll("'", "'\\''")
  return ["-H 'Content-Type: application/json'", `-d '${json}'`]
}

function parameterIn({ components }: OpenApiDocument, parameter: Parameter | Reference): Parameter {
  if (!('$ref' in parameter)) return parameter
  const found = components.parameters[parameter.$ref.split('/').at(-1) ?? '']
  if (!found) throw new Error(`there is no ${parameter.$ref}`)
  return found
}

function answerIn({ components }: OpenApiDocument, answer: Answer | Reference): Answer {
  if (!('$ref' in answer)) return answer
  const found = components.responses[answer.$ref.split('/').at(-1) ?? '']
  if (!found) throw new Error(`there is no ${answer.$ref}`)
  return found
}

function parameterTable(document: OpenApiDocument, operation: Operation): string {
  const { schemas } = document.components
  if (operation.parameters.length === 0) return ''
  const lines = operation.parameters
    .map((parameter) => parameterIn(document, parameter))
    .map(({ name, in: place, required, description = '', schema }) => ({
      path: name,
      type: `${typeInWords(schemas, schema, 'request')}, in the ${place}`,
      required,
      description,
      rules: rulesInWords(schemas, schema),
    }))
  return `<h4>Parameters</h4>\n${table(lines, 'request')}`
}

function fieldTable(document: OpenApiDocument, schema: Schema, direction: Direction): string {
  const lines = fieldLines(document.components.schemas, schema, direction)
  return lines.length === 0 ? '' : table(lines, direction)
}

const tableOf = (heads: string[], rows: string[]): string => `<table>
<thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join('')}</tr></thead>
<tbody>${rows.join('\n')}</tbody></table>`

const table = (lines: FieldLine[], direction: Direction): string =>
  tableOf(
    ['Name', 'Type', 'Description'],
    lines.map((line) => rowOf(line, direction)),
  )

function rowOf({ path, type, required, description, rules }: FieldLine, direction: Direction): string {
  const mark = required && direction === 'request' ? ' <em>required</em>' : ''
  const limits = rules === '' ? '' : `<p class="rules">${escapeHtml(rules)}</p>`
  return `<tr><td><code>${escapeHtml(path)}</code>${mark}</td><td>${escapeHtml(type)}</td><td>${prose(description)}${limits}</td></tr>`
}

function answersOf(document: OpenApiDocument, operation: Operation): string {
  const answers = Object.entries(operation.responses).map(([status, given]) => ({
    status,
    answer: answerIn(document, given),
  }))
  const failed = answers.filter(({ status }) => Number(status) >= 400)
  const rows = failed.map(
    ({ status, answer }) => `<tr><td>${escapeHtml(status)}</td><td>${prose(answer.description)}</td></tr>`,
  )
  const statuses = failed.map(({ status }) => escapeHtml(status)).join(', ')
  return `${answers
    .filter((answer) => !failed.includes(answer))
    .map(({ status, answer }) => successOf(document, status, answer))
    .join('\n')}
<details><summary>Errors: ${statuses}</summary>
${tableOf(['Status', 'Codes'], rows)}
</details>`
}

function successOf(document: OpenApiDocument, status: string, answer: Answer): string {
  const schema = answer.content?.['application/json'].schema
  return `<div><b>${escapeHtml(status)}</b> ${prose(answer.description)}</div>
${schema ? fieldTable(document, schema, 'answer') : ''}`
}

/** Paragraphs, lists and code in a text, everything else as it is written. */
function prose(text: string): string {
  if (text === '') return ''
  const blocks = escapeHtml(text)
    .replaceAll(/`([^`\n]+)`/g, '<code>$1</code>')
    .split(/\n{2,}/)
  return blocks
    .map((block) => {
      const lines = block.split('\n')
      const isList = lines.every((line) => line.startsWith('- '))
      return isList ? list(lines.map((line) => line.slice(2))) : `<p>${block}</p>`
    })
    .join('\n')
}
