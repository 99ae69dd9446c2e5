import { readFileSync } from 'node:fs'
import path from 'node:path'

export type Asset = { path: string; contentType: string; text: string }

const asset = (file: string, contentType: string, servedAt = `/assets/${file}`): Asset => ({
  path: servedAt,
  contentType: `${contentType}; charset=utf-8`,
  text: readFileSync(path.join(import.meta.dirname, 'assets', file), 'utf8'),
})

/** What pages load, read once: everything comes from this service. Browsers ask for /favicon.ico by themselves. */
export const loadAssets = (): Asset[] => [
  asset('house.css', 'text/css'),
  asset('docs.css', 'text/css'),
  asset('mailbox.css', 'text/css'),
  asset('mailbox.js', 'text/javascript'),
  asset('favicon.svg', 'image/svg+xml', '/favicon.svg'),
  asset('favicon.svg', 'image/svg+xml', '/favicon.ico'),
]
