import * as assert from 'uvu/assert'
import { afterCheck, verdictOf, worstOf } from '../../../src/features/domains/verification.rules.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'

scenario('The state of a domain after a check', nothingShared, (test) => {
  const now = new Date('2026-03-04T05:06:07Z')
  const verified = { status: 'VERIFIED', vouched: false, missingSince: null, verifiedAt: now } as const

  test('is four fields, whatever else the row has', () => {
    const row = { ...verified, mailboxOnly: true, domain: 'a.example' }
    for (const verdict of ['unknown', 'present', 'missing', 'disabled'] as const) {
      const fields = Object.keys(afterCheck(row, verdict, now)).toSorted()
      assert.equal(fields, ['missingSince', 'status', 'verifiedAt', 'vouched'], verdict)
    }
  })

  test('is the worst of what is certain', () => {
    assert.is(worstOf(['present', 'unknown', 'missing']), 'missing')
    assert.is(worstOf(['present', 'unknown']), 'unknown')
    assert.is(worstOf(['missing', 'disabled']), 'disabled')
    const record = {
      type: 'TXT',
      name: 'a',
      value: 'b',
      priority: null,
      purpose: 'DKIM',
      required: true,
    } as const
    assert.is(verdictOf({ ...record, status: 'VERIFIED', found: null }), 'unknown')
    assert.is(verdictOf({ ...record, status: 'FAILED', found: [] }), 'missing')
  })
})
