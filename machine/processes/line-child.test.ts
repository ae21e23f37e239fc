import { EventEmitter, once } from 'node:events'
import { expect, test } from 'vitest'
import { LineChild } from './line-child.ts'
import { isAlive } from './process.ts'

/** A child of a script of Node's, what it says, and a wait for its loss. */
function childOf(script: string) {
  const events = new EventEmitter()
  const lines: string[] = []
  const losses: string[] = []
  const child = new LineChild(
    { command: process.execPath, args: ['-e', script] },
    {
      onLine(line) {
        lines.push(line)
        events.emit('line')
      },
      onLost(reason) {
        losses.push(reason)
        events.emit('lost')
      },
    },
  )
  return { child, lines, losses, next: (what: 'line' | 'lost') => once(events, what) }
}

test('what is written is answered line by line, whatever pieces it comes in', async () => {
  const { child, lines, next } = childOf(
    `process.stdin.on('data', (text) => { process.stdout.write('a'); process.stdout.write('b\\nc\\n' + text) })`,
  )
  child.write('x')
  while (lines.length < 3) await next('line')
  expect(lines).toEqual(['ab', 'c', 'x'])
  await child.end({ withinMs: 1000 })
})

// [LINES-1]
test('a loss is reported once, with its reason and the last words, and no line comes after it', async () => {
  const { child, lines, losses, next } = childOf(
    `console.error('out of memory'); console.log('one'); process.stdin.once('data', () => process.exit(7))`,
  )
  await next('line')
  child.write('go')
  await next('lost')
  child.lose('was given up later')
  expect(losses).toEqual(['ended with code 7; its last words: out of memory'])
  expect(lines).toEqual(['one'])
})

// [LINES-1]
test('a process is lost when it ends, also where one that it started beyond its group holds its output', async () => {
  const { child, lines, losses, next } = childOf(
    `const { spawn } = require('node:child_process')
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: ['ignore', 'inherit', 'inherit'] })
    console.log(other.pid); other.unref(); process.exitCode = 3`,
  )
  try {
    await next('lost')
    expect(losses).toEqual(['ended with code 3'])
  } finally {
    process.kill(Number(lines[0]), 'SIGKILL')
    await child.end({ withinMs: 1000 })
  }
})

// [LINES-2]
test('a line without end is cut off where memory would be filled, and so are last words', async () => {
  const { losses, next } = childOf(
    `process.stderr.write('e'.repeat(1e6)); setInterval(() => process.stdout.write('x'.repeat(1e6)), 1)`,
  )
  await next('lost')
  expect(losses[0]).toMatch(/^wrote a line of more than 16777216 characters/)
  expect(losses[0]?.length).toBeLessThan(5000)
})

// [LINES-3]
test('what a child has started ends with it', async () => {
  const { child, lines, next } = childOf(
    `const { spawn } = require('node:child_process')
     const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })
     console.log(other.pid)
     process.on('SIGTERM', () => {})
     setInterval(() => {}, 1000)`,
  )
  await next('line')
  const other = { pid: Number(lines[0]) }
  expect(isAlive(other)).toBe(true)
  await child.end({ withinMs: 100, signal: 'SIGTERM' })
  await expect.poll(() => isAlive(other)).toBe(false)
})
