// Plain JavaScript, for the versions of Node that cannot run the rest.

const NEEDED = 24

const [major = '0'] = process.versions.node.split('.')
if (Number(major) < NEEDED) {
  console.error(
    `Mailwright needs Node.js ${NEEDED} or newer, and this is ${process.version}. Install without --omit=optional ` +
      'to get one along, on Linux, macOS and Windows (x64, arm64), or update Node.js.',
  )
  process.exit(1)
}
