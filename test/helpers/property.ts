// Properties as one assertion each: a test report of thousands of lines takes longer than the property itself.

import fc from 'fast-check'

interface Asserting {
  pass(message: string): unknown
  fail(message: string, details: object): unknown
}

/** Holds where the property holds for every input tried; the report names the smallest input that breaks it. */
export function holds<Inputs>(t: Asserting, property: fc.IProperty<Inputs>, runs = 200): void {
  const result = fc.check(property, { numRuns: runs })
  if (result.failed) t.fail('the property holds', { found: fc.defaultReportMessage(result) })
  else t.pass('the property holds')
}
