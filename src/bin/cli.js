// Plain JavaScript, so that an old Node comes as far as the sentence that says which one is needed.
import './require-node.js'

await import('./cli.ts')
