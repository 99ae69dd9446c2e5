/** The part of html-to-text that is used here; the package has no types of its own. */
declare module 'html-to-text' {
  interface TextBuilder {
    addInline(text: string): void
  }
  interface HtmlElement {
    children: readonly object[]
  }
  type Formatter = (
    element: HtmlElement,
    walk: (children: readonly object[], builder: TextBuilder) => void,
    builder: TextBuilder,
  ) => void
  interface ConversionOptions {
    wordwrap: number
    limits: { maxDepth: number; ellipsis: string }
    formatters: Record<string, Formatter>
    selectors: { selector: string; format?: string; options?: Record<string, string | number | boolean> }[]
  }
  export function compile(options: ConversionOptions): (html: string) => string
}
