import * as assert from 'uvu/assert'
import {
  type CellType,
  type Columns,
  cellValue,
  type ImportRow,
  readHeader,
  readRecord,
  typeWith,
} from '../../../src/features/contact-jobs/csv/csv.rules.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'

/** The columns of a header that is as it should be. */
function columnsOf(header: string[]): Columns {
  const columns = readHeader(header)
  if (typeof columns === 'string') throw new Error(columns)
  return columns
}

function refused(header: string[]): string {
  const columns = readHeader(header)
  if (typeof columns !== 'string') throw new Error(`${header} was taken`)
  return columns
}

/** The type of a column with these cells. */
const typeOf = (cells: string[]): CellType =>
  cells.reduce<CellType | null>((type, cell) => typeWith(type, cell), null) ?? 'text'

/** As the only row of its file. */
function read(header: string[], record: string[]): ImportRow | string {
  const columns = columnsOf(header)
  const types = columns.data.map(({ index }) => typeOf([(record[index] ?? '').trim()]))
  return readRecord(record, columns, types)
}

/** What a record below these columns would store. */
function setOf(header: string[], record: string[]): ImportRow['set'] {
  const row = read(['email', ...header], ['ada@example.org', ...record])
  if (typeof row === 'string') throw new Error(row)
  return row.set
}

scenario('The header of a CSV file', nothingShared, (test) => {
  for (const name of [
    'email',
    'Email',
    ' EMAIL ',
    'E-mail',
    'Email Address',
    'E-Mail Address',
    'email_address',
    'Mail',
  ]) {
    test(`may call the address ${JSON.stringify(name)}`, () => {
      assert.equal(columnsOf(['First Name', name]), {
        email: 1,
        subscribed: null,
        data: [{ index: 0, key: 'First Name' }],
      })
    })
  }

  test('is that of an export of Mailchimp or HubSpot', () => {
    const mailchimp = columnsOf([
      'Email Address',
      'First Name',
      'Last Name',
      'MEMBER_RATING',
      'OPTIN_IP',
      'TAGS',
    ])
    assert.is(mailchimp.email, 0)
    const hubspot = columnsOf(['Record ID', 'First Name', 'Last Name', 'Email', 'Email Domain'])
    assert.is(hubspot.email, 3)
    assert.is(hubspot.data.at(-1)?.key, 'Email Domain')
  })

  test('prefers the plainest name', () => {
    const columns = columnsOf(['Email Address', 'mail', 'email'])
    assert.is(columns.email, 2)
    assert.equal(
      columns.data.map(({ key }) => key),
      ['Email Address', 'mail'],
    )
  })

  test('says where the subscription is, in any case', () => {
    assert.is(columnsOf(['email', 'Subscribed']).subscribed, 1)
    assert.equal(columnsOf(['email', 'Subscribed']).data, [])
  })

  test('may have columns without a name, which are left out', () => {
    assert.equal(columnsOf(['', 'email', ' ', 'plan', '']).data, [{ index: 3, key: 'plan' }])
  })

  test('keeps names as they are: case, dots, blanks inside, other scripts, __proto__', () => {
    const names = ['Plan', 'plan', 'a.b', 'first name', '名前', '__proto__', 'constructor']
    assert.equal(
      columnsOf(['email', ...names]).data.map(({ key }) => key),
      names,
    )
  })

  test('is refused without a column for the address', () => {
    for (const header of [['name'], ['emails'], [''], [], ['email address 2']]) {
      assert.match(refused(header), /"email"/)
    }
  })

  test('is refused with two columns of one name', () => {
    assert.match(refused(['email', 'plan', ' plan ']), /two columns "plan"/)
    assert.match(refused(['email', 'email']), /two columns "email"/)
  })

  test('is refused with too many columns, too long names or NUL', () => {
    const many = Array.from({ length: 499 }, (_, index) => `c${index}`)
    columnsOf(['email', ...many])
    assert.match(refused(['email', ...many, 'c499']), /500 columns/)
    columnsOf(['email', 'x'.repeat(255)])
    assert.match(refused(['email', 'x'.repeat(256)]), /255 characters/)
    assert.match(refused(['email', 'a\0b']), /cannot be stored/)
  })
})

scenario('The cell of a CSV file', nothingShared, (test) => {
  for (const [cell, value] of [
    ['0', 0],
    ['7', 7],
    ['-5', -5],
    ['1.50', 1.5],
    ['0.1', 0.1],
    ['123456789012345', 123_456_789_012_345],
    ['1234567.12345678', 1_234_567.123_456_78],
    ['TRUE', true],
    ['true', true],
    ['True', true],
    ['FALSE', false],
  ] as const) {
    test(`is typed: ${cell}`, () => {
      assert.is(cellValue(cell, typeOf([cell])), value)
    })
  }

  for (const cell of [
    ...[
      '007',
      '00',
      '-01',
      '+49 30 1234567',
      '+5',
      '1e5',
      '1E5',
      '0x10',
      '1.',
      '.5',
      '1,5',
      '1 000',
      '1_000',
    ],
    ...['1234567890123456', '12345678901234.56', '-', '--5', 'NaN', 'Infinity', '-Infinity', '１２'],
    ...['=1+1', '+A1', '-A1', '@x', '=HYPERLINK("http://example.org","x")', "'5"],
    ...['yes', 'no', 'null', 'undefined', '2026-03-04', '{"a":1}', '[1]', 'truefalse'],
  ]) {
    test(`stays text: ${cell}`, () => {
      assert.is(cellValue(cell, typeOf([cell])), cell)
    })
  }

  test('is trimmed', () => {
    assert.equal(setOf(['a', 'b'], [' x y ', '\t7\n']), { a: 'x y', b: 7 })
  })

  test('is ignored when it is empty, blank or missing', () => {
    assert.equal(setOf(['a', 'b', 'c', 'd'], ['', '  ', 'x']), { c: 'x' })
  })

  test('has no effect in a reserved column', () => {
    const reserved = ['id', 'svc_id', 'svc_email', 'unsubscribeUrl', 'subscribeUrl', 'manageUrl']
    assert.equal(
      setOf(
        [...reserved, 'Id'],
        [...reserved, 'mine'].map(() => '1'),
      ),
      { Id: 1 },
    )
  })

  test('may be that of a column that every object has', () => {
    const set = setOf(['__proto__', 'constructor'], ['1', '2'])
    assert.equal(Object.entries(set), [
      ['__proto__', 1],
      ['constructor', 2],
    ])
    assert.is(Object.getPrototypeOf(set), Object.prototype)
  })
})

scenario('The column of a CSV file', nothingShared, (test) => {
  for (const [type, cells] of [
    ['text', []],
    ['text', ['', '']],
    ['number', ['1', '', '2.5']],
    ['text', ['90210', '01234']],
    ['text', ['01234', '90210']],
    ['text', ['1', 'x', '2']],
    ['boolean', ['true', '', 'FALSE']],
    ['text', ['true', 'no']],
    ['text', ['true', '1']],
    ['text', ['1', 'true']],
  ] as const) {
    test(`with the cells ${JSON.stringify(cells)} is ${type}`, () => {
      assert.is(typeOf([...cells]), type)
    })
  }

  test('is that of a field although it is named as filters name it', () => {
    assert.equal(
      columnsOf(['email', 'data.plan', 'data.', 'data.a.b', 'Data.x', 'data.id']).data.map(({ key }) => key),
      ['plan', 'data.', 'a.b', 'Data.x'],
    )
    assert.match(refused(['email', 'plan', 'data.plan']), /two columns "plan"/)
  })
})

scenario('The row of a CSV file', nothingShared, (test) => {
  const header = ['email', 'subscribed', 'plan']

  test('has an address, in lower case', () => {
    assert.equal(read(header, [' Ada@Example.ORG ', '', 'pro']), {
      email: 'ada@example.org',
      subscribed: null,
      set: { plan: 'pro' },
    })
    assert.equal(read(['email'], ['ada@xn--bcher-kva.example']), {
      email: 'ada@bücher.example',
      subscribed: null,
      set: {},
    })
  })

  test('is refused without a valid address', () => {
    assert.match(String(read(header, ['', 'true', 'pro'])), /missing/)
    assert.match(String(read(header, [])), /missing/)
    for (const email of [
      'ada',
      'ada@',
      '@example.org',
      'a b@example.org',
      'ada@example',
      'a@b.org,c@d.org',
    ]) {
      assert.match(String(read(header, [email])), /not an email address/, email)
    }
    assert.match(String(read(header, ['Ada <ada@example.org>'])), /not an email address/)
    assert.match(String(read(header, ['a\0da@example.org'])), /not an email address/)
  })

  for (const [subscribed, words] of [
    [true, ['true', 'TRUE', '1', 'yes', 'Y', 'Subscribed', ' true ']],
    [false, ['false', 'False', '0', 'no', 'N', 'unsubscribed']],
    [null, ['', ' ']],
  ] as const) {
    test(`says that somebody is subscribed: ${subscribed}`, () => {
      for (const word of words) {
        const row = read(header, ['ada@example.org', word])
        assert.is(typeof row === 'string' ? row : row.subscribed, subscribed, word)
      }
    })
  }

  test('is refused when nobody knows what it says about that', () => {
    for (const word of ['maybe', '2', 'null', 'ja', '-1', 'constructor', 'pending']) {
      assert.match(String(read(header, ['ada@example.org', word])), /"subscribed"/, word)
    }
  })

  test('is refused with NUL or half of a surrogate pair, and says where', () => {
    assert.match(String(read(header, ['ada@example.org', '', 'a\0b'])), /"plan"/)
    assert.match(String(read(header, ['ada@example.org', '', '\ud800'])), /"plan"/)
  })

  test('is refused with more than 64 KB', () => {
    const cell = (bytes: number) => ['ada@example.org', '', 'x'.repeat(bytes)]
    assert.type(read(header, cell(65_536 - '{"plan":""}'.length)), 'object')
    assert.match(String(read(header, cell(65_537 - '{"plan":""}'.length))), /65536 bytes/)
    assert.match(String(read(header, ['ada@example.org', '', 'ü'.repeat(40_000)])), /65536 bytes/)
  })
})
