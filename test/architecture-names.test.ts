import * as assert from 'uvu/assert'
import { nothingShared, scenario } from './support/scenario.ts'
import { filesOf, textOf } from './support/sources.ts'

type Constant = { file: string; name: string; type: string | undefined; value: string }

/** The constants at the top level of a file; of the value the beginning. */
const constantsOf = (file: string): Constant[] =>
  [...textOf(file).matchAll(/^(?:export )?const (\w+)(?:: ([^=]+))? =\s+(.{1,80})/gm)].map(
    ([, name = '', type, value = '']) => ({ file, name, type, value }),
  )

/** A number, a text, a pattern, a list, an object or an instance. */
const isConfig = ({ type, value }: Constant): boolean =>
  /^(-?\d|['"`/[]|new )/.test(value) || (value.startsWith('{') && /^(Record|Readonly)\b|^$/.test(type ?? ''))

/** What holds something that changes while the process runs. */
const isState = ({ value }: Constant): boolean =>
  /^(new (Map|Set)(<.*>)?\(\)|new Weak\w+|new \w*(Cache|Loader|Pool|Slots|Turns)\b|\[\]|\{\}$)/.test(value)

/** Constants that hold what changes all the same, and why. */
const STATEFUL: Record<string, string> = {}

/** Variables of modules, and why. */
const VARIABLES: Record<string, string> = {
  'src/db/migrations/schema-engine.ts loading': 'compiled WebAssembly, the same for every caller',
}

/** Configuration with the name of something that is called. */
const CALLED: Record<string, string> = {
  'src/graphql/builder.ts builder': 'the collection of types that Pothos is built around',
  'src/bin/cli.ts program': 'the command line itself, in the file that is started',
}

const PRODUCT_WORDS =
  /\b(contact|e-?mail|campaign|segment|workflow|template|recipient|audience|project|mailwright)s?\b/i

const keyOf = ({ file, name }: { file: string; name: string }) => `${file} ${name}`

/** That all of these are listed, and nothing else is. */
function assertListed(found: { file: string; name: string }[], listed: Record<string, string>): void {
  assert.equal(found.map(keyOf).toSorted(), Object.keys(listed).toSorted())
}

scenario('The names in the sources', nothingShared, (test) => {
  const files = filesOf('src/**/*.ts')
  const constants = files.flatMap(constantsOf)

  test('of constants are SCREAMING when they are configuration', () => {
    const config = constants.filter(isConfig)
    assert.ok(config.length > 200)
    assertListed(
      config.filter((found) => !/^[A-Z][A-Z0-9_]*$/.test(found.name) && !(keyOf(found) in STATEFUL)),
      CALLED,
    )
  })

  test('of what holds state are not there: it has an owner', () => {
    assertListed(constants.filter(isState), STATEFUL)
    const variables = files.flatMap((file) =>
      [...textOf(file).matchAll(/^(?:export )?(?:let|var) (\w+)/gm)].map(([, name = '']) => ({ file, name })),
    )
    assertListed(variables, VARIABLES)
  })

  test('of references to GraphQL types are those of the types, with Ref behind them', () => {
    const MADE =
      /^(?:export )?const (\w+) = (?:builder\s*\.(?:\w+Ref|prismaObject|enumType)|defineEnum|\w+PageOf)[^(]*\(\s*'(\w+)'/gm
    const refs = files.flatMap((file) => [...textOf(file).matchAll(MADE)])
    assert.ok(refs.length > 50)
    for (const [, name, type] of refs) assert.is(name, `${type}Ref`)
  })

  test('of background work are those of the files, verbNounJob, and of its kinds end with Work', () => {
    const jobs = filesOf('src/features/**/*.job.ts')
    assert.ok(jobs.length > 5)
    for (const file of jobs) {
      const words = file.slice(file.lastIndexOf('/') + 1, -'.job.ts'.length)
      const name = `${words.replaceAll(/-(\w)/g, (_all, letter: string) => letter.toUpperCase())}Job`
      assert.match(textOf(file), new RegExp(`^export (const|function) ${name}\\b`, 'm'), file)
    }
    const kinds = constants.filter(({ value }) => value.startsWith('workKind('))
    assert.ok(kinds.length > 5)
    for (const { name } of kinds) assert.match(name, /Work$/)
  })

  test('of files say where the schemas of inputs are: in x.input.ts', () => {
    const asked = filesOf('src/features/**/*.graphql.ts').flatMap((file) =>
      [...textOf(file).matchAll(/inputArgument\(\s*'\w+',\s*(\w+)/g)].map(([, name = '']) => ({
        file,
        name,
      })),
    )
    assert.ok(asked.length > 15)
    for (const { file, name } of asked) {
      assert.match(
        textOf(file),
        new RegExp(`import \\{[^}]*\\b${name}\\b[^}]*\\} from '[^']+\\.input\\.ts'`),
        name,
      )
    }
    for (const file of filesOf('src/**/*.input.ts'))
      assert.match(textOf(file), /^import \{ z \} from 'zod'$/m, file)
  })

  test('in lib are those of no product', () => {
    const named = filesOf('src/lib/**/*.ts').filter((file) => PRODUCT_WORDS.test(file + textOf(file)))
    assert.equal(named, [])
  })
})
