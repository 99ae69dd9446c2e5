/** Repeats a statement of at most `limit` rows until it returns, or changes, fewer. */
export async function untilFewer(limit: number, run: () => Promise<number>): Promise<void> {
  while ((await run()) === limit);
}
