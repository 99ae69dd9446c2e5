/** Remembers values up to a number of bytes all together; what was asked for longest ago makes room. */
export class ByteCache<Value> {
  readonly #maxBytes: number
  readonly #entries = new Map<string, { value: Value; bytes: number }>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** `bytes` is what the entry takes in memory. One that is larger than all may be is not remembered. */
  set(key: string, value: Value, bytes: number): void {
    this.#remove(key)
    if (bytes > this.#maxBytes) return
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes + bytes <= this.#maxBytes) break
      this.#remove(oldest)
    }
    this.#entries.set(key, { value, bytes })
    this.#bytes += bytes
  }

  #remove(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0
    this.#entries.delete(key)
  }
}
