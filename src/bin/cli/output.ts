// Output of commands for people.

/** Text from elsewhere on one line, without what could steer a terminal. */
export const oneLine = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
  text.replaceAll(/[\x00-\x1f\x7f-\x9f\u2028\u2029]+/g, ' ').trim()

/** Columns as wide as their widest cell, two blanks apart. */
export function table(head: string[], rows: string[][]): string {
  const lines = [head, ...rows.map((row) => row.map(oneLine))]
  const widths = head.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)))
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** One "name  value" a line, indented. */
export function fields(values: Record<string, string>): string {
  const width = Math.max(...Object.keys(values).map((name) => name.length))
  return Object.entries(values)
    .map(([name, value]) => `  ${name.padEnd(width)}  ${oneLine(value)}`)
    .join('\n')
}

export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** UTC, to the second. */
export const time = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`
