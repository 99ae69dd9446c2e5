/** The text as a part of a LIKE pattern: `%` and `_` in it stand for themselves. */
export const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&')
