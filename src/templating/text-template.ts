import { isMarkup } from '../lib/text/html.ts'

/** Stand for the tags of a template while its markup is converted: characters that no text has (private use). */
const [BEGIN, END] = ['\ue000', '\ue001']
const TAG = /\{\{([^{}]*)\}\}/g
const PLACE = new RegExp(`${BEGIN}(\\d+)${END}`, 'g')

/**
 * The template of the text part of messages from a body, so that markup is converted once for all of them. `toText`
 * converts markup. Null when the text has to be converted for each message: values may be markup ({{{x}}}), the tags have
 * other delimiters, sections would stand elsewhere, or the body is text already.
 */
export async function textTemplateOf(
  body: string,
  toText: (html: string) => Promise<string>,
): Promise<string | null> {
  if (!isMarkup(body) || /\{\{\s*[{&=]/.test(body) || body.includes(BEGIN)) return null
  const tags: string[] = []
  const masked = body.replace(TAG, (tag, name: string) => {
    if (name.trimStart().startsWith('!')) return ''
    tags.push(tag)
    return `${BEGIN}${tags.length - 1}${END}`
  })
  const text = await toText(masked)
  const places = [...text.matchAll(PLACE)].map(([, index]) => Number(index))
  const isSection = (index: number) => /^\{\{\s*[#^/]/.test(tags[index] ?? '')
  const sections = [...tags.keys()].filter(isSection)
  const isInOrder = places.filter(isSection).join() === sections.join()
  const rest = text.replaceAll(PLACE, '')
  if (!isInOrder || rest.includes('{{') || rest.includes(BEGIN)) return null
  return text.replaceAll(PLACE, (_place, index: string) => tags[Number(index)] ?? '')
}
