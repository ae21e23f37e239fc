import { EventEmitter } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { endingSignals, endUnlessWatched, watchInterrupts } from './interrupt.ts'

function watched() {
  const source = new EventEmitter() as EventEmitter & Pick<NodeJS.Process, 'exit'>
  const ends: unknown[] = []
  source.exit = ((code: unknown) => ends.push(code)) as unknown as NodeJS.Process['exit']
  const clock = { now: 0 }
  let forcedCode: number | undefined
  const interrupt = watchInterrupts(
    () => {
      ends.push('forced')
      return forcedCode
    },
    source as unknown as NodeJS.Process,
    () => clock.now,
  )
  onTestFinished(() => interrupt[Symbol.dispose]())
  const endsWith = (code: number) => {
    forcedCode = code
  }
  return { source, ends, clock, interrupt, endsWith }
}

test.each(endingSignals)('the first signal only tells: %s [INTERRUPT-1]', (name) => {
  const { source, ends, interrupt } = watched()
  expect(interrupt.signal.aborted).toBe(false)
  source.emit(name)
  expect(interrupt.signal.aborted).toBe(true)
  expect(ends).toEqual([])
})

test('the second signal ends the process at once with 130 [INTERRUPT-2]', () => {
  const { source, ends, clock } = watched()
  source.emit('SIGINT')
  clock.now = 1000
  source.emit('SIGTERM')
  expect(ends).toEqual(['forced', 130])
})

test('the second signal keeps the code of what had ended already [INTERRUPT-2]', () => {
  const { source, ends, clock, endsWith } = watched()
  endsWith(0)
  source.emit('SIGHUP')
  clock.now = 1000
  source.emit('SIGHUP')
  expect(ends).toEqual(['forced', 0])
})

test('an echo of the first signal is no second one [INTERRUPT-3]', () => {
  const { source, ends, clock } = watched()
  source.emit('SIGINT')
  clock.now = 20
  source.emit('SIGINT')
  expect(ends).toEqual([])
})

test('what the launcher passes on is no second signal, however late, but its own second is [INTERRUPT-3]', () => {
  const { source, ends, clock } = watched()
  source.emit('SIGINT', 'SIGINT', 2)
  clock.now = 5000
  source.emit('SIGINT', 'SIGINT', 'launcher')
  expect(ends).toEqual([])
  clock.now = 9000
  source.emit('SIGINT', 'SIGINT', 'launcher')
  expect(ends).toEqual(['forced', 130])
})

test('a command that does not listen ends at the first signal, one that does decides itself [INTERRUPT-4]', () => {
  const { source, ends, interrupt } = watched()
  using _ = endUnlessWatched(source as unknown as NodeJS.Process)
  source.emit('SIGTERM')
  expect(ends).toEqual([])
  interrupt[Symbol.dispose]()
  source.emit('SIGTERM')
  expect(ends).toEqual([130])
})

test('disposing gives the signals back [INTERRUPT-5]', () => {
  const { source, interrupt } = watched()
  interrupt[Symbol.dispose]()
  for (const name of endingSignals) expect(source.listenerCount(name)).toBe(0)
})
