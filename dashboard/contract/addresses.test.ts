import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addressOf, type PageView, viewAt } from './addresses.ts'

const run = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,12}$/)
const id = run.map((name) => `${name}/e-some suite?#%-v3-1/s0/a0`)
const views: fc.Arbitrary<PageView> = fc.oneof(
  fc.constant<PageView>({ view: 'runs' }),
  fc.record({ view: fc.constant('run' as const), run }),
  fc.record({ view: fc.constant('run' as const), run, update: fc.nat() }),
  fc.record({
    view: fc.constant('comparison' as const),
    policies: fc.array(fc.oneof(fc.record({ run }), fc.record({ run, version: fc.nat(1000) })), {
      maxLength: 4,
    }),
  }),
  fc.record({
    view: fc.constant('episodes' as const),
    filter: fc.string({ unit: 'grapheme' }),
    sort: fc.constantFrom('reward' as const, 'created' as const),
    descending: fc.boolean(),
  }),
  fc.record({ view: fc.constant('experiment' as const), experiment: run }),
  fc.record({ view: fc.constant('group' as const), parent: id }),
  fc.record({ view: fc.constant('episode' as const), episode: id, turn: fc.nat(100), token: fc.nat(1000) }),
)

// [ADDRESSES-1]
test('reading an address gives back what it was made of', () => {
  fc.assert(
    fc.property(views, (view) => {
      expect(viewAt(addressOf(view))).toEqual(view)
    }),
  )
})

test('an address reads well, and what is none is none', () => {
  expect(addressOf({ view: 'episode', episode: 'first/g1/s0/a0', turn: 2 })).toBe(
    '#/episodes/first/g1/s0/a0?turn=2',
  )
  expect(viewAt('#/nowhere')).toBeUndefined()
  expect(viewAt('')).toEqual({ view: 'runs' })
})
