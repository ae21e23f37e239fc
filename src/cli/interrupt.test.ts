import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { watchInterrupts } from './interrupt.ts'

function watched() {
  const source = new EventEmitter() as EventEmitter & Pick<NodeJS.Process, 'exit'>
  const ends: unknown[] = []
  source.exit = ((code: unknown) => ends.push(code)) as unknown as NodeJS.Process['exit']
  const clock = { now: 0 }
  const interrupt = watchInterrupts(
    () => ends.push('forced'),
    source as unknown as NodeJS.Process,
    () => clock.now,
  )
  return { source, ends, clock, interrupt }
}

test('the first signal only tells', () => {
  const { source, ends, interrupt } = watched()
  expect(interrupt.signal.aborted).toBe(false)
  source.emit('SIGINT')
  expect(interrupt.signal.aborted).toBe(true)
  expect(ends).toEqual([])
})

test('the second signal ends the process at once with 130', () => {
  const { source, ends, clock } = watched()
  source.emit('SIGINT')
  clock.now = 1000
  source.emit('SIGTERM')
  expect(ends).toEqual(['forced', 130])
})

test('an echo of the first signal is no second one', () => {
  const { source, ends, clock } = watched()
  source.emit('SIGINT')
  clock.now = 20
  source.emit('SIGINT')
  expect(ends).toEqual([])
})

test('disposing gives the signals back', () => {
  const { source, interrupt } = watched()
  interrupt[Symbol.dispose]()
  expect(source.listenerCount('SIGINT')).toBe(0)
})
