import t from 'tap'
import { ForkSwitches } from '../../src/fork/switches.ts'

function switches(): { switches: ForkSwitches, clock: { now: number } } {
  const clock = { now: 0 }
  return { switches: new ForkSwitches({ backoffAfter: 3, backoffMs: 1000, now: () => clock.now }), clock }
}

t.test('the third refusal in a row switches a model off, and says so once [case 45]', async (t) => {
  const { switches: of } = switches()
  t.strictSame([1, 2, 3, 4].map(() => of.refused('t', 'm', 'e1')), [false, false, true, false])
  t.equal(of.isModelOff('t', 'm', 'e1'), true)
  t.equal(of.isModelOff('t', 'n', 'e1'), false)
})

t.test('an accepted fork in between starts the count again', async (t) => {
  const { switches: of } = switches()
  of.refused('t', 'm', 'e1')
  of.refused('t', 'm', 'e1')
  of.accepted('t', 'm')
  of.refused('t', 'm', 'e1')
  t.equal(of.isModelOff('t', 'm', 'e1'), false)
})

t.test('a new calibration switches the model on again, and counts anew', async (t) => {
  const { switches: of } = switches()
  for (let i = 0; i < 3; i++) of.refused('t', 'm', 'e1')
  t.equal(of.isModelOff('t', 'm', 'e2'), false)
  of.refused('t', 'm', 'e2')
  t.equal(of.isModelOff('t', 'm', 'e2'), false)
  t.equal(of.isModelOff('t', 'm', 'e1'), false)
})

t.test('forks that are hardly cached pause forking for its time', async (t) => {
  const { switches: of, clock } = switches()
  t.strictSame([of.observed('t', 0, 1000), of.observed('t', 99, 1000), of.observed('t', 0, 1000)], [false, false, true])
  t.equal(of.isPaused('t'), true)
  clock.now = 999
  t.equal(of.isPaused('t'), true)
  clock.now = 1000
  t.equal(of.isPaused('t'), false)
  t.equal(of.observed('t', 0, 1000), false)
})

t.test('one that is cached starts the count again, and one that does not say changes nothing', async (t) => {
  const { switches: of } = switches()
  of.observed('t', 0, 1000)
  of.observed('t', 0, 1000)
  of.observed('t', 100, 1000)
  t.equal(of.observed('t', 0, 1000), false)
  t.equal(of.observed('t', null, 1000), false)
  t.equal(of.observed('t', 0, 1000), false)
  t.equal(of.observed('t', null, 1000), false)
  t.equal(of.isPaused('t'), false)
  t.equal(of.observed('t', 0, 1000), true)
})
