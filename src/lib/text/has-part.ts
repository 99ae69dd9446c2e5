/** Up to so many comparisons a search costs next to nothing, however it is done. */
const FEW = 65_536

/**
 * Whether a text has a part. `includes` takes time that grows with the product of both lengths for some texts, such as 64 KB
 * of one letter: for long ones this is the search of Knuth, Morris and Pratt, which looks at each character about once.
 */
export function hasPart(text: string, part: string): boolean {
  if (text.length * part.length <= FEW) return text.includes(part)
  const shorter = beginningsAtEnds(part)
  let found = 0
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    while (found > 0 && unit !== part.charCodeAt(found)) found = shorter[found - 1] ?? 0
    if (unit === part.charCodeAt(found)) found += 1
    if (found === part.length) return true
  }
  return false
}

/** For each beginning of a text: how long the longest one is with which it ends, itself left out. */
function beginningsAtEnds(text: string): Uint32Array {
  const lengths = new Uint32Array(text.length)
  let length = 0
  for (let at = 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    while (length > 0 && unit !== text.charCodeAt(length)) length = lengths[length - 1] ?? 0
    if (unit === text.charCodeAt(length)) length += 1
    lengths[at] = length
  }
  return lengths
}
