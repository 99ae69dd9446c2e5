/** Computes a value when it is asked for first, and then returns the same. */
export function lazily<Value>(compute: () => Value): () => Value {
  let known: { value: Value } | undefined
  return () => {
    known ??= { value: compute() }
    return known.value
  }
}
