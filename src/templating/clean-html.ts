import sanitizeHtml from 'sanitize-html'
import { boundedHtml } from './text-part.ts'

/**
 * HTML of a stranger, to be shown in a page: what runs, asks or loads anything when it is looked at is gone, such as scripts,
 * forms, styles and images of other servers. What is longer than any letter is cut, and what nests too deep left out.
 */
export const cleanHtml = (html: string): string =>
  sanitizeHtml(boundedHtml(html), {
    allowedTags: [...sanitizeHtml.defaults.allowedTags, 'img'],
    allowedAttributes: {
      a: ['href', 'title', 'rel', 'target'],
      img: ['src', 'alt', 'title', 'width', 'height'],
      td: ['colspan', 'rowspan', 'align'],
      th: ['colspan', 'rowspan', 'align'],
    },
    allowedSchemes: ['http', 'https', 'mailto', 'tel'],
    allowedSchemesByTag: { img: ['cid', 'data'] },
    allowProtocolRelative: false,
    exclusiveFilter: ({ tag, attribs }) => tag === 'img' && !attribs.src,
    transformTags: {
      a: (tagName, attribs) => ({
        tagName,
        attribs: { ...attribs, rel: 'noopener noreferrer nofollow', target: '_blank' },
      }),
    },
    nestingLimit: DEEPEST_NESTING,
    parseStyleAttributes: false,
  })

const DEEPEST_NESTING = 100
