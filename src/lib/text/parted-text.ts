/** A text as the parts that it has in common with others, and what stands between them: value, part, value, …, value. */
export class PartedText {
  /** The same array for texts with the same parts. */
  readonly common: readonly string[]
  readonly values: readonly string[]

  private constructor(common: readonly string[], values: readonly string[]) {
    this.common = common
    this.values = values
  }

  /** Null when the text does not have these parts in this order. */
  static of(common: readonly string[], text: string): PartedText | null {
    const values: string[] = []
    let from = 0
    for (const part of common) {
      const at = text.indexOf(part, from)
      if (at === -1) return null
      values.push(text.slice(from, at))
      from = at + part.length
    }
    values.push(text.slice(from))
    // A slice keeps all of the text in memory, a copy does not.
    return new PartedText(common, structuredClone(values))
  }

  get whole(): string {
    return this.filledWith((_index, value) => value)
  }

  /** Characters of its values. */
  get length(): number {
    return this.values.reduce((sum, { length }) => sum + length, 0)
  }

  /** The text with something else in place of each of its values. */
  filledWith(fill: (index: number, value: string) => string): string {
    return this.values.map((value, index) => fill(index, value) + (this.common[index] ?? '')).join('')
  }

  /** Whether a pattern is found in a value, or where it meets the parts beside it, `reach` characters of these. */
  holds(pattern: RegExp, reach: number): boolean {
    return this.values.some((value, index) =>
      pattern.test(
        (this.common[index - 1] ?? '').slice(-reach) + value + (this.common[index] ?? '').slice(0, reach),
      ),
    )
  }
}
