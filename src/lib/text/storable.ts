/** Text of others as the database can keep it: without NUL, and without halves of characters. */
export const storableText = (text: string): string => text.replaceAll('\0', '').toWellFormed()
