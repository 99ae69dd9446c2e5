/** The value of a cookie in the header Cookie (RFC 6265, 5.4), as it stands there; undefined without one. */
export function cookieNamed(name: string, header: string | undefined): string | undefined {
  const found = header?.split(';').find((pair) => pair.trimStart().startsWith(`${name}=`))
  return found?.trim().slice(name.length + 1)
}
