import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { type CsvRecord, csvRecords, type Place } from '../../../src/features/contact-jobs/csv/csv.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'
import { bytesOf, type Dialect, encoded, parsed, tableOf, WINDOWS_1252, written } from './csv-support.ts'

const TWO = [
  ['email', 'name'],
  ['ada@example.org', 'Zoë “Z” €5'],
]
const text = 'email,name\nada@example.org,Zoë “Z” €5\n'

scenario('The encoding of a CSV file', nothingShared, (test) => {
  for (const encoding of ['utf-8', 'utf-8 with BOM', 'utf-16le', 'utf-16be', 'windows-1252'] as const) {
    test(`may be ${encoding}`, async () => {
      assert.equal(await tableOf(encoded(text, encoding)), TWO)
    })
  }

  test('is UTF-8 when the mark says so, even with a byte that is none', async () => {
    const bytes = Uint8Array.from([...encoded('email,name\nZoë,', 'utf-8 with BOM'), 0xe9])
    assert.equal(await tableOf(bytes), [
      ['email', 'name'],
      ['Zoë', '\uFFFD'],
    ])
  })

  test('may have characters that Windows-1252 does not define', async () => {
    const bytes = Uint8Array.from([...bytesOf('email,name\na,'), 0x81, 0x9d, 0xff])
    assert.equal((await tableOf(bytes))[1], ['a', '\x81\x9dÿ'])
  })

  test('does not break characters of four bytes, wherever they stand in a large file', async () => {
    for (const offset of [0, 1]) {
      const cell = `${'x'.repeat(offset)}${'😀'.repeat(40_000)}`
      assert.equal(await tableOf(`email,name\na,${cell}\n`), [
        ['email', 'name'],
        ['a', cell],
      ])
    }
  })
})

scenario('The dialect of a CSV file', nothingShared, (test) => {
  for (const [what, file] of [
    ['commas', 'email,name\na,b'],
    ['semicolons', 'email;name\na;b'],
    ['tabs', 'email\tname\na\tb'],
    ['CR LF', 'email,name\r\na,b\r\n'],
    ['CR alone', 'email,name\ra,b\r'],
    ['LF after the header and CR LF then', 'email,name\n"a","b"\r\n'],
    ['CR LF after the header and LF then', 'email,name\r\n"a","b"\n'],
    ['sep=;', 'sep=;\r\nemail;name\r\na;b'],
    ['sep=, and CR', 'sep=,\remail,name\ra,b'],
    ['SEP= in capitals, and a tab', 'SEP=\t\nemail\tname\na\tb'],
    ['blanks around quotes', 'email, "name"\na, "b"\n'],
    ['blanks after quotes', '"email" ,"name"\t\n"a" ,"b"  '],
    ['blanks after quotes, and tabs', '"email" \t"name" \r\n "a" \t"b"'],
    ['empty lines before the header', '\n\r\n  \nemail,name\na,b'],
    ['quotes everywhere', '"email","name"\n"a","b"\n'],
  ] as const) {
    test(`may have ${what}`, async () => {
      assert.equal(await tableOf(file), [
        ['email', 'name'],
        ['a', 'b'],
      ])
    })
  }

  test('is told by the header, not by what stands in its quotes or in rows', async () => {
    assert.equal(await tableOf('email;"name, first, last, other"\na,b;c,d\n'), [
      ['email', 'name, first, last, other'],
      ['a,b', 'c,d'],
    ])
    assert.equal(await tableOf('"name\nof, the, person";email\na;b\n'), [
      ['name\nof, the, person', 'email'],
      ['a', 'b'],
    ])
    assert.equal(await tableOf('sep=;\nemail,x,y\na;b\n'), [['email,x,y'], ['a', 'b']])
  })

  test('may have a single column', async () => {
    assert.equal(await tableOf('email\na\nb\n'), [['email'], ['a'], ['b']])
  })

  test('may have cells with quotes, delimiters and line breaks', async () => {
    assert.equal(await tableOf('email,name\r\na,"x ""y"", z"\r\nb,"one\r\ntwo\nthree"\r\nc,""\r\n'), [
      ['email', 'name'],
      ['a', 'x "y", z'],
      ['b', 'one\r\ntwo\nthree'],
      ['c', ''],
    ])
  })

  test('may have blanks around cells with quotes, delimiters and line breaks', async () => {
    assert.equal(await tableOf('email,name\n "a,b" , "x ""y""" \n"c\nd" ,"""" \n'), [
      ['email', 'name'],
      ['a,b', 'x "y"'],
      ['c\nd', '"'],
    ])
  })

  test('may have quotes and blanks that are the text itself', async () => {
    assert.equal(await tableOf('email,name\n"""a"" ","b" c" \nx"y" ,d\n'), [
      ['email', 'name'],
      ['"a" ', '"b" c" '],
      ['x"y" ', 'd'],
    ])
  })

  test('may have quotes in the middle of a cell', async () => {
    assert.equal(await tableOf('email,name\na,5" disk\n"b" c,d\n'), [
      ['email', 'name'],
      ['a', '5" disk'],
      ['"b" c', 'd'],
    ])
  })

  test('may have rows with fewer and more cells than the header', async () => {
    assert.equal(await tableOf('email,name\na\nb,c,d\n'), [['email', 'name'], ['a'], ['b', 'c', 'd']])
  })
})

scenario('The row numbers of a CSV file', nothingShared, (test) => {
  test('are those of a spreadsheet: empty lines count, line breaks in cells do not', async () => {
    const { rows, table } = await parsed('email,name\n\na,"x\ny"\n  \n;\n,,\nb,\n\n"c"\n')
    assert.equal(
      rows.map((row, index) => [row, table[index]?.[0]]),
      [
        [1, 'email'],
        [3, 'a'],
        [5, ';'],
        [7, 'b'],
        [9, 'c'],
      ],
    )
  })

  test('do not count the line that names the delimiter', async () => {
    assert.equal((await parsed('sep=;\nemail;name\na;b\n')).rows, [1, 2])
  })

  test('count on in a large file', async () => {
    const { rows } = await parsed(`email\n${Array.from({ length: 20_000 }, () => 'abcdef').join('\n\n')}`)
    assert.is(rows.length, 20_001)
    assert.is(rows.at(-1), 40_000)
  })
})

scenario('A CSV file that is broken', nothingShared, (test) => {
  test('keeps the rows before a quote that is never closed, and names the row', async () => {
    const { table, broken } = await parsed('email,name\na,b\n\n"x\ny",c\nd,"e\nf,g\n')
    assert.equal(table, [
      ['email', 'name'],
      ['a', 'b'],
      ['x\ny', 'c'],
    ])
    assert.is(broken?.row, 5)
    assert.match(broken?.message ?? '', /quote/)
  })

  test('keeps the rows before one of more than a megabyte, closed or not', async () => {
    for (const tail of [`d,"${'x'.repeat(1_200_000)}"\ne,f\n`, `d,"${'x,y\n'.repeat(1_000_000)}`]) {
      const { table, broken } = await parsed(`email,name\na,b\n${tail}`)
      assert.is(table.length, 2)
      assert.is(broken?.row, 3)
      assert.match(broken?.message ?? '', /too long/)
    }
  })

  test('has no rows when there is nothing in it', async () => {
    for (const file of ['', '\n', ' \r\n\t\n', '\uFEFF', 'sep=;\n', ',,\n;\n'.slice(0, 3)]) {
      assert.equal(await parsed(file), { rows: [], table: [], broken: null }, JSON.stringify(file))
    }
  })
})

/** What exports have in their cells, and what separates them. */
const character = fc.constantFrom(...'abc019 ,;"\'=+-@\\|\n\r\t', '""', '\r\n', ...WINDOWS_1252)
const anyText = fc.oneof(
  fc.array(character, { maxLength: 8 }).map((parts) => parts.join('')),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
)
const of1252 = fc.array(character, { maxLength: 8 }).map((parts) => parts.join(''))

const tableArbitrary = (cell: fc.Arbitrary<string>) =>
  fc
    .tuple(
      fc.constantFrom<string[]>(['email', 'name', 'age'], ['a', 'email'], ['email']),
      fc.array(fc.tuple(cell, cell, cell), { maxLength: 6 }),
    )
    .map(([header, rows]) => [header, ...rows.map((row) => row.slice(0, header.length))])

const dialect: fc.Arbitrary<Dialect> = fc.record({
  delimiter: fc.constantFrom(',' as const, ';' as const, '\t' as const),
  newline: fc.constantFrom('\n' as const, '\r\n' as const, '\r' as const),
  quoteAll: fc.boolean(),
  told: fc.boolean(),
  ended: fc.boolean(),
})

const file = fc.oneof(
  fc.record({
    table: tableArbitrary(anyText),
    dialect,
    encoding: fc.constantFrom('utf-8', 'utf-8 with BOM', 'utf-16le', 'utf-16be' as const),
  }),
  fc.record({ table: tableArbitrary(of1252), dialect, encoding: fc.constant('windows-1252' as const) }),
)

const isEmpty = (cells: string[]) => cells.every((cell) => cell.trim() === '')

/** Windows-1252 whose bytes happen to be UTF-8 as well cannot be told from it. */
const isAmbiguous = (text: string, encoding: string) =>
  encoding === 'windows-1252' &&
  new TextDecoder().decode(encoded(text, encoding)) !== text &&
  !new TextDecoder().decode(encoded(text, encoding)).includes('\uFFFD')

async function recordsOf(text: string, from?: Place): Promise<CsvRecord[]> {
  const records: CsvRecord[] = []
  for await (const more of csvRecords(text, from)) records.push(...more)
  return records
}

scenario('Any table', nothingShared, (test) => {
  test('written in any dialect and encoding comes back as it was', async () => {
    let compared = 0
    const run = async ({
      table,
      dialect,
      encoding,
    }: typeof file extends fc.Arbitrary<infer T> ? T : never) => {
      const text = written(table, dialect)
      fc.pre(!isAmbiguous(text, encoding))
      const read = await parsed(encoded(text, encoding))
      assert.is(read.broken, null)
      const expected = table
        .map((cells, index) => ({ row: index + 1, cells }))
        .filter(({ cells }) => !isEmpty(cells))
      assert.equal(
        read.table,
        expected.map(({ cells }) => cells),
      )
      assert.equal(
        read.rows,
        expected.map(({ row }) => row),
      )
      compared += 1
    }
    await fc.assert(fc.asyncProperty(file, run), { numRuns: 1_500 })
    assert.ok(compared >= 1_500)
  })

  test('is read on from the end of each of its records', async () => {
    let places = 0
    const run = async ({ table, dialect }: { table: string[][]; dialect: Dialect }) => {
      const text = written(table, dialect)
      const all = await recordsOf(text)
      for (const [index, { end }] of all.entries()) {
        const rest = await recordsOf(text, end)
        assert.equal(rest, all.slice(index + 1))
        places += 1
      }
    }
    await fc.assert(fc.asyncProperty(fc.record({ table: tableArbitrary(anyText), dialect }), run), {
      numRuns: 300,
    })
    assert.ok(places > 300)
  })
})
