import * as assert from 'uvu/assert'
import type { Statement } from '../src/db/sql.ts'
import { nothingShared, scenario } from './support/scenario.ts'
import { filesOf, type Import, importsOfSources, textOf } from './support/sources.ts'

/** What a file is, by its place and its suffix. */
type Role =
  | 'bin'
  | 'app'
  | 'services.ts'
  | 'lists'
  | 'kernel'
  | 'lib'
  | 'rules'
  | 'input'
  | 'generated'
  | 'db'
  | 'queue'
  | 'mail'
  | 'templating'
  | 'audience'
  | 'changes'
  | 'messages'
  | 'pages'
  | 'http'
  | 'graphql'
  | 'rest'
  | 'smtp'
  | 'queue definition'
  | 'feature graphql'
  | 'feature http'
  | 'feature job'
  | 'feature service'
  | 'feature sql'

/** Lists of what a feature adds to the whole: fields, jobs, raw routes. */
const LISTS = ['schema.ts', 'jobs.ts', 'routes.ts']

/** Folders of what everything knows, beside the files at the top. */
const KERNEL = ['admission', 'paging', 'observe']

/** What the code that defines background work, or asks for it, knows of the queue. */
const QUEUE_DEFINITION = /^queue\/(define-\w+|job-queue|priorities)\.ts$/

function roleOf(file: string): Role {
  if (file.endsWith('.rules.ts')) return 'rules'
  if (file.endsWith('.input.ts')) return 'input'
  const [folder = '', ...rest] = file.split('/')
  if (QUEUE_DEFINITION.test(file)) return 'queue definition'
  if (folder === 'features') return featureRoleOf(file)
  if (KERNEL.includes(folder)) return 'kernel'
  if (rest.length > 0) return folder as Role
  if (LISTS.includes(file)) return 'lists'
  return file === 'app.ts' ? 'app' : file === 'services.ts' ? 'services.ts' : 'kernel'
}

function featureRoleOf(file: string): Role {
  const suffix = /\.(graphql|http|job|sql)\.ts$/.exec(file)?.[1]
  return suffix ? (`feature ${suffix}` as Role) : 'feature service'
}

/** Whom each may import at run time, besides its own kind and lib. Types may be imported from anywhere. */
const MAY_IMPORT: Record<Role, Role[]> = {
  lib: [],
  rules: ['input'],
  input: ['rules'],
  generated: [],
  db: ['generated'],
  kernel: ['db'],
  queue: ['kernel', 'db', 'queue definition'],
  'queue definition': ['kernel'],
  mail: ['rules'],
  templating: ['rules'],
  audience: ['kernel', 'db', 'rules'],
  changes: ['kernel', 'db', 'queue definition'],
  messages: ['db'],
  pages: [],
  http: ['kernel', 'pages'],
  graphql: ['kernel', 'http', 'generated'],
  rest: ['kernel', 'http', 'graphql', 'pages'],
  smtp: ['kernel', 'http', 'feature service', 'rules'],
  'feature sql': ['db', 'kernel', 'changes', 'messages'],
  'feature service': [
    'kernel',
    'db',
    'rules',
    'input',
    'audience',
    'changes',
    'templating',
    'feature sql',
    'queue definition',
  ],
  'feature graphql': ['graphql', 'feature service', 'rules', 'input'],
  'feature job': ['changes', 'queue definition', 'kernel', 'feature service', 'feature sql', 'rules'],
  'feature http': ['http', 'kernel', 'feature service', 'rules', 'pages'],
  lists: ['graphql', 'queue definition', 'feature graphql', 'feature job', 'feature http'],
  'services.ts': ['kernel', 'db', 'queue', 'templating', 'lists'],
  app: [
    'services.ts',
    'kernel',
    'lists',
    'db',
    'queue',
    'mail',
    'http',
    'graphql',
    'rest',
    'smtp',
    'feature service',
  ],
  bin: ['app', 'services.ts', 'kernel', 'lists', 'db', 'queue', 'feature service', 'rules', 'input'],
}

/** Imports that break a rule, and why that is better than keeping it. */
const EXCEPTIONS: Record<string, string> = {
  'features/operations/health.http.ts > db/migrations/migrate.ts':
    'readiness is about the migrations themselves',
  'routes.ts > features/inbound/take-over-mail.ts':
    'SNS tells of mail that came in as well, and inbound mail itself reads notices with the feature of notifications',
  'features/wipes/advance-wipe.ts > mail/mail-folder.ts':
    'a reset removes the messages that the development mailbox keeps, which are files',
}

/** The statements and rules of another feature that are imported all the same, and why. */
const SHARED: Record<string, string> = {
  'features/contacts/upsert-contact.sql.ts':
    'the one way to make or merge a contact is a part of the one statement that sends or tracks',
  'features/contacts/contact-data.rules.ts': 'what a data input means is one pure rule for every door',
  'features/domains/dns-records.rules.ts':
    'the CLI prints, and the report of compliance judges, the records that the API answers with',
}

const nameOf = ({ from, to }: Import) => `${from} > ${to}`
const folderOf = (file: string) =>
  file
    .split('/')
    .slice(0, file.startsWith('features/') ? 2 : 1)
    .join('/')

function breaksLayers({ from, to, typeOnly }: Import): boolean {
  const [source, target] = [roleOf(from), roleOf(to)]
  const pure = ['lib', 'rules', 'input'].includes(source)
  if (typeOnly && !pure) return false
  return target !== source && target !== 'lib' && !MAY_IMPORT[source].includes(target)
}

/**
 * Of another feature only the service may be imported, with the inputs that it takes: not its statements, its rules or its
 * doors. But a noun's GraphQL file adds its fields to the types of others.
 */
function reachesIntoFeature({ from, to }: Import): boolean {
  if (!to.startsWith('features/') || folderOf(from) === folderOf(to) || LISTS.includes(from)) return false
  if (from.endsWith('.graphql.ts') && to.endsWith('.graphql.ts')) return false
  return /\.(sql|rules|graphql|http|job)\.ts$/.test(to)
}

scenario('The sources', nothingShared, (test) => {
  const imports = importsOfSources()

  test('are found, with their imports', () => {
    assert.ok(imports.length > 300)
    assert.ok(imports.some((found) => nameOf(found) === 'features/events/track.ts > ctx.ts'))
    assert.ok(imports.some(({ typeOnly, to }) => typeOnly && to === 'ctx.ts'))
    for (const { from } of imports) assert.ok(roleOf(from) in MAY_IMPORT, `${from} has a role`)
  })

  test('import one way', () => {
    const broken = imports.filter(breaksLayers).map(nameOf)
    assert.equal(
      broken.filter((name) => !(name in EXCEPTIONS)),
      [],
    )
    assert.equal(
      Object.keys(EXCEPTIONS).filter((name) => !broken.includes(name)),
      [],
      'exceptions that nobody needs any more',
    )
  })

  test('use nothing of another feature but its service', () => {
    const reached = imports.filter(reachesIntoFeature)
    assert.equal(reached.filter(({ to }) => !(to in SHARED)).map(nameOf), [])
    assert.equal(
      Object.keys(SHARED).filter((file) => !reached.some(({ to }) => to === file)),
      [],
      'exceptions that nobody needs any more',
    )
  })

  test('have no cycles between folders', () => {
    const loaded = imports.filter(({ typeOnly, dynamic }) => !typeOnly && !dynamic)
    assert.is(cycleAmong(loaded, groupOf), null)
  })

  test('have no cycles between files, with types and what is imported late', () => {
    assert.is(
      cycleAmong(imports, (file) => file),
      null,
    )
  })

  test('import nothing for its side effects but the operations', () => {
    const bare = imports.filter((found) => found.bare)
    assert.ok(bare.length > 0)
    assert.equal(
      bare.filter(({ from, to }) => from !== 'schema.ts' || !to.endsWith('.graphql.ts')).map(nameOf),
      [],
    )
  })

  test('list every feature file that adds to the whole', () => {
    for (const [suffix, list] of [
      ['graphql', 'schema.ts'],
      ['http', 'routes.ts'],
      ['job', 'jobs.ts'],
    ]) {
      const listed = imports.filter(({ from }) => from === list).map(({ to }) => `src/${to}`)
      for (const file of filesOf(`src/features/**/*.${suffix}.ts`)) assert.ok(listed.includes(file), file)
    }
  })

  test('put messages into the delivery queue in one place', () => {
    const writers = filesOf('src/**/*.ts').filter((file) => /insert into deliveries/i.test(textOf(file)))
    assert.equal(writers, ['src/messages/deliveries.sql.ts'])
  })

  test('read the environment in one place', () => {
    const readers = filesOf('src/**/*.ts').filter((file) => /\bprocess\s*(\.|\[.)env\b/.test(textOf(file)))
    assert.equal(readers, ['src/config.ts'])
  })

  test('have at most 300 lines a file', () => {
    const long = filesOf('src/**/*.ts').filter((file) => textOf(file).trimEnd().split('\n').length > 300)
    assert.equal(long, [])
  })

  test('are at most 15 files a folder', () => {
    const sizes = new Map<string, number>()
    for (const file of filesOf('src/**/*.ts')) {
      const folder = file.slice(0, file.lastIndexOf('/'))
      sizes.set(folder, (sizes.get(folder) ?? 0) + 1)
    }
    assert.ok(sizes.size > 30)
    assert.equal(
      [...sizes].filter(([, size]) => size > 15),
      [],
    )
  })

  test('have their statements in x.sql.ts, with named parameters', () => {
    const files = filesOf('src/**/*.ts').filter((file) => MAKER.test(textOf(file)))
    assert.ok(files.length > 30)
    assert.equal(
      files.filter((file) => !file.endsWith('.sql.ts') && file !== 'src/db/sql.ts'),
      [],
    )
    assert.equal(
      files.filter((file) => !file.startsWith('src/db/') && /\$(\d|\$\{)/.test(textOf(file))),
      [],
    )
  })

  test('declare for every statement the parameters that its text names, and no others', async () => {
    let statements = 0
    for (const file of filesOf('src/**/*.sql.ts')) {
      const exported: Record<string, unknown> = await import(`../${file}`)
      for (const [name, built] of Object.entries(exported)) {
        if (!isStatement(built)) continue
        statements += 1
        const declared = new RegExp(`const ${name} = ${MAKER.source}`).exec(textOf(file))
        assert.ok(declared, `${file} says what ${name} takes`)
        const params = firstTypeIn(textOf(file).slice(declared.index + declared[0].length))
        assert.equal(built.names.toSorted(), keysOf(params, file).toSorted(), `${name} of ${file}`)
      }
    }
    assert.ok(statements > 90)
  })

  test('do not switch the compiler off', () => {
    const ANY = /(:|<|\bas|\||,|=)\s*any\b\s*(\[|>|\)|,|;|=|\||$)|@ts-(ignore|nocheck|expect-error)/m
    assert.match('const x: any = 1', ANY)
    assert.match('(x as any)', ANY)
    assert.match('Map<string, any>', ANY)
    assert.equal(
      filesOf('src/**/*.ts').filter((file) => ANY.test(withoutComments(textOf(file)))),
      [],
    )
  })
})

/** The call that makes a statement, up to its type arguments. */
const MAKER = /\b(?:statement|shortStatement|unpreparedStatement|analyticStatement)</

const isStatement = (value: unknown): value is Statement<never, unknown> =>
  typeof value === 'object' && value !== null && 'names' in value && 'kind' in value

/** The text up to the comma, or the end, of the first of some type arguments. */
function firstTypeIn(text: string): string {
  let depth = 0
  for (const { index, 0: sign } of text.matchAll(/=>|[<>{}()[\],;]/g)) {
    if ('{([<'.includes(sign)) depth += 1
    else if (depth === 0 && sign !== '=>') return text.slice(0, index)
    else if ('})]>'.includes(sign)) depth -= 1
  }
  throw new Error(`There is no type in ${text.slice(0, 80)}`)
}

/** The keys of a type: objects and names of types of the same file, joined by `&`. */
function keysOf(type: string, file: string): string[] {
  const objects = [...withoutComments(type).matchAll(/\{([^{}]*)\}/g)].map(([, inside = '']) => inside)
  const own = objects.flatMap((inside) =>
    [...inside.matchAll(/(?:^|[;\n])\s*(\w+):/g)].map(([, key = '']) => key),
  )
  const names = type.replaceAll(/\{[^{}]*\}/g, '').match(/\w+/g) ?? []
  return [
    ...own,
    ...names.filter((name) => name !== 'None').flatMap((name) => keysOf(typeText(name, file), file)),
  ]
}

function typeText(name: string, file: string): string {
  for (const place of [file, 'src/admission/idempotency.sql.ts']) {
    const text = withoutComments(textOf(place))
    const found = new RegExp(`^(?:export )?type ${name} = `, 'm').exec(text)
    // It ends before the next line that is not indented.
    if (found) return text.slice(found.index + found[0].length).split(/\n(?=[^\s}])/)[0] ?? ''
  }
  throw new Error(`${file} has no type ${name}`)
}

/** Top-level files are groups of their own, but the kernel is one. */
function groupOf(file: string): string {
  return roleOf(file) === 'kernel' ? 'kernel' : folderOf(file)
}

const withoutComments = (text: string) =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/ .*$/gm, '')

/** The first cycle that is found, as a path; null when there is none. */
function cycleAmong(imports: Import[], nodeOf: (file: string) => string): string | null {
  const targets = new Map<string, Set<string>>()
  for (const [source, target] of imports.map(({ from, to }) => [nodeOf(from), nodeOf(to)] as const)) {
    if (source !== target) targets.set(source, (targets.get(source) ?? new Set()).add(target))
  }
  assert.ok(targets.size > 15)
  const done = new Set<string>()
  const visit = (node: string, trail: string[]): string | null => {
    if (trail.includes(node)) return [...trail.slice(trail.indexOf(node)), node].join(' > ')
    if (done.has(node)) return null
    for (const target of targets.get(node) ?? []) {
      const cycle = visit(target, [...trail, node])
      if (cycle) return cycle
    }
    done.add(node)
    return null
  }
  for (const node of targets.keys()) {
    const cycle = visit(node, [])
    if (cycle) return cycle
  }
  return null
}

scenario('The tests', nothingShared, (test) => {
  test('all run through scenario()', () => {
    const files = filesOf('test/**/*.test.ts')
    assert.ok(files.length > 20)
    for (const file of files) {
      const text = textOf(file)
      assert.match(text, /^scenario\(/m, file)
      assert.not.match(text, /^import .* from 'uvu'$/m, file)
      assert.not.match(text, /\.(only|skip)\(/, file)
    }
  })
})
