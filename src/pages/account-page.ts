import { escapeHtml } from '../lib/text/html.ts'
import { htmlPage } from './page.ts'

type Field = {
  name: string
  label: string
  type: 'email' | 'password' | 'text'
  /** What a password manager fills in, as HTML names it. */
  autocomplete: string
  value?: string | undefined
  minLength?: number
}

type Form = {
  /** Where the button leads, from the top of the service. */
  action: string
  button: string
  fields?: Field[]
  /** What the form sends besides. */
  hidden?: Record<string, string>
}

export type AccountPage = {
  heading: string
  /** Plain text, a string for each paragraph. */
  paragraphs: string[]
  /** Why the service did not take what was entered. */
  refusal?: string | undefined
  /** Projects of the reader, with the role there. */
  projects?: { name: string; role: string }[]
  form?: Form
  /** Other places to go to, from the top of the service. */
  links?: { href: string; text: string }[]
}

/** A page about an account, with one form at most. It works without a script. */
export function accountPage(page: AccountPage, top: string): string {
  const { heading, paragraphs, refusal, projects = [], form, links = [] } = page
  const title = refusal === undefined ? heading : `Not done: ${heading}`
  return htmlPage({
    title: `${title} · Mailwright`,
    top,
    body: `<main class="sheet">
<h1>${escapeHtml(heading)}</h1>
${refusal === undefined ? '' : `<p class="refusal" role="alert">${escapeHtml(refusal)}</p>`}
${paragraphs.map((text) => `<p>${escapeHtml(text)}</p>`).join('\n')}
${projects.length === 0 ? '' : `<ul>${projects.map(projectItem).join('\n')}</ul>`}
${form ? formMarkup(form, top) : ''}
${links.map(({ href, text }) => `<p><a href="${escapeHtml(top + href)}">${escapeHtml(text)}</a></p>`).join('\n')}
</main>`,
  })
}

const projectItem = ({ name, role }: { name: string; role: string }): string =>
  `<li><strong>${escapeHtml(name)}</strong> <span class="quiet">${escapeHtml(role)}</span></li>`

const formMarkup = ({ action, button, fields = [], hidden = {} }: Form, top: string): string =>
  `<form method="post" action="${escapeHtml(top + action)}">
${Object.entries(hidden).map(hiddenField).join('\n')}
${fields.map(fieldMarkup).join('\n')}
<button class="primary">${escapeHtml(button)}</button>
</form>`

const hiddenField = ([name, value]: [string, string]): string =>
  `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`

function fieldMarkup({ name, label, type, autocomplete, value, minLength }: Field): string {
  const optional = [
    ...(value === undefined ? [] : [` value="${escapeHtml(value)}"`]),
    ...(minLength === undefined ? [] : [` minlength="${minLength}"`]),
  ]
  return `<label>${escapeHtml(label)}
<input type="${type}" name="${name}" autocomplete="${autocomplete}" required${optional.join('')}></label>`
}
