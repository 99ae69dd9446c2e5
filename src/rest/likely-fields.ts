import { editDistance } from '../lib/text/edit-distance.ts'

/** Names that other APIs and people use for the fields; the first that an operation has is meant. */
const SYNONYMS: Record<string, readonly string[]> = {
  recipient: ['to'],
  recipients: ['to'],
  toemail: ['to'],
  sender: ['from'],
  fromemail: ['from'],
  fromname: ['name'],
  sendername: ['name'],
  html: ['body'],
  htmlbody: ['body'],
  bodyhtml: ['body'],
  htmlcontent: ['body'],
  content: ['body'],
  message: ['body'],
  text: ['body'],
  title: ['subject', 'name'],
  replyto: ['reply'],
  reply: ['replyTo'],
  templateid: ['template'],
  templatename: ['template'],
  variables: ['data'],
  vars: ['data'],
  params: ['data'],
  mergevars: ['data'],
  substitutions: ['data'],
  templatedata: ['data'],
  templatevariables: ['data'],
  templatemodel: ['data'],
  dynamictemplatedata: ['data'],
  properties: ['data'],
  props: ['data'],
  attributes: ['data'],
  metadata: ['data'],
  fields: ['data'],
  customfields: ['data'],
  traits: ['data'],
  customheaders: ['headers'],
  attachment: ['attachments'],
  files: ['attachments'],
  name: ['filename', 'event'],
  eventname: ['event', 'name'],
  event: ['name'],
  mail: ['email'],
  address: ['email'],
  emailaddress: ['email'],
  contact: ['email'],
  user: ['email'],
  optin: ['subscribed'],
  type: ['contentType'],
  mimetype: ['contentType'],
  cid: ['contentId'],
  base64: ['content'],
  ids: ['contactIds'],
  contacts: ['contactIds', 'emails'],
  addresses: ['emails'],
  filters: ['filter', 'condition'],
  filter: ['condition'],
  conditions: ['condition'],
  perpage: ['limit', 'pageSize'],
  size: ['limit', 'pageSize'],
  limit: ['pageSize'],
  pagesize: ['limit'],
  after: ['cursor'],
  order: ['dir'],
  sortby: ['sort'],
  query: ['search'],
  q: ['search'],
}

/** Names are compared without case and without what joins their words. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[\s_-]/g, '')

/** Longer ones are no slips of a typist. */
const MAX_LENGTH = 40

/** The existing name that was likely meant; null when none looks like it. */
export function likelyField(given: string, names: readonly string[]): string | null {
  if (given.length > MAX_LENGTH) return null
  const wanted = plain(given)
  const same = names.find((name) => plain(name) === wanted)
  if (same) return same
  const synonyms = Object.hasOwn(SYNONYMS, wanted) ? SYNONYMS[wanted] : undefined
  const meant = synonyms?.find((name) => names.includes(name))
  if (meant) return meant
  const most = wanted.length <= 4 ? 1 : 2
  const near = names
    .map((name) => ({ name, slips: editDistance(wanted, plain(name)) }))
    .toSorted((a, b) => a.slips - b.slips)
    .find(({ slips }) => slips <= most)
  return near?.name ?? null
}
