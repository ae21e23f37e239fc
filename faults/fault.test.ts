import { expect, test } from 'vitest'
import { Fault } from './fault.ts'

class TapFault extends Fault<'dry' | 'burst'> {
  override readonly name = 'TapFault'
  protected static override readonly permanentKinds: readonly TapFault['kind'][] = ['burst']
}

class LostFault extends Fault<'lost'> {
  override readonly name = 'LostFault'
  protected static override readonly permanentKinds = 'all'
}

class PassingFault extends Fault<'late'> {
  override readonly name = 'PassingFault'
}

test('a fault has name, kind, message and cause', () => {
  const cause = new Error('no water')
  const fault = new TapFault('dry', 'the tap is dry: open the valve', { cause })
  expect(fault).toBeInstanceOf(Error)
  expect({ ...fault, message: fault.message, cause: fault.cause }).toEqual({
    name: 'TapFault',
    kind: 'dry',
    permanent: false,
    message: 'the tap is dry: open the valve',
    cause,
  })
  expect(new TapFault('dry', 'dry')).not.toHaveProperty('cause')
  expect(String(fault)).toBe('TapFault: the tap is dry: open the valve')
})

test('whether trying again can help is said by its kind', () => {
  expect(new TapFault('burst', 'burst').permanent).toBe(true)
  expect(new LostFault('lost', 'lost').permanent).toBe(true)
  expect(new PassingFault('late', 'late').permanent).toBe(false)
})
