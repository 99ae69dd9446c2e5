import type { Attack } from '../define-attack.ts'

const LASTING_MS = 20_000
const COLUMNS = 500
const MAX_BYTES = 5 * 1024 * 1024

/** As many rows of as many cells as an import may have; quotes with blanks behind them are looked at twice. */
function wideFile(cell: string): Blob {
  const names = ['email', ...Array.from({ length: COLUMNS - 1 }, (_, index) => `c${index}`)]
  const cells = `,${cell}`.repeat(COLUMNS - 1)
  const parts = [`${names.join(',')}\n`]
  for (let bytes = parts[0]?.length ?? 0, row = 0; ; row += 1) {
    const line = `w${row}@example.org${cells}\n`
    bytes += line.length
    if (bytes > MAX_BYTES) return new Blob(parts, { type: 'text/csv' })
    parts.push(line)
  }
}

/** A tenant imports files of 500 columns, one after the other. */
export const wideImports: Attack = {
  name: 'imports of 500 columns',
  before: 'the event loop was held for half a second while 500 rows were read',
  run: async ({ url, unlimited, signal }) => {
    const files = ['1', '', '"a" '].map(wideFile)
    const until = performance.now() + LASTING_MS
    const statuses = new Map<number, number>()
    for (let next = 0; performance.now() < until && !signal.aborted; next += 1) {
      const body = new FormData()
      body.set('file', files[next % files.length] ?? new Blob(), 'wide.csv')
      const headers = { authorization: `Bearer ${unlimited.secret}` }
      const request = { method: 'POST', headers, body, signal }
      const answer = await fetch(`${url}/contacts/import`, request).catch(() => null)
      await answer?.arrayBuffer().catch(() => null)
      if (answer) statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    }
    return [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')
  },
}
