/** A process ends a thread, or itself, while graphs run. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-computing-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

const sibling = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)

/** One graph after the other, each of them long enough to be met in the middle. */
const computing = `
import { parentPort } from 'node:worker_threads'
const { endWhenAsked } = await import(${sibling('./computing-thread.ts')})
const { Graph } = await import(${sibling('./graph.ts')})
const { createInferenceSession, tensor } = await import(${sibling('./runtime.ts')})
endWhenAsked()
const side = 1200
const graph = new Graph()
const x = graph.input('x', [side, side])
let y = x
for (let i = 0; i < 8; i++) y = graph.operation('MatMul', [y, x], [side, side])
graph.output('y', y)
const session = await createInferenceSession(graph.encode(), { threads: 1 })
const feeds = { x: tensor('float32', new Float32Array(side * side), [side, side]) }
for (;;) {
  parentPort.postMessage('runs')
  await session.run(feeds)
}`

/** The exit code of a process that does this while three threads compute. */
function codeOf(what: string, source = computing, printed = /^$/): number | null {
  writeFileSync(join(folder, 'computing.mjs'), computing)
  const module = join(folder, 'thread.mjs')
  writeFileSync(module, source)
  const program = join(folder, 'program.mjs')
  writeFileSync(
    program,
    `
const { startComputingThread, endComputingThread, endWithin } = await import(${sibling('./computing-thread.ts')})
const threads = [1, 2, 3].map(() => startComputingThread(new URL(${JSON.stringify(pathToFileURL(module).href)}), {}))
await Promise.all(threads.map((thread) => new Promise((resolve) => {
  let runs = 0
  thread.on('message', () => { if (++runs === 3) resolve() })
})))
${what}`,
  )
  const { status, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' })
  expect(stderr).toMatch(printed)
  return status
}

it('a thread that is asked to end does so between two graphs [THREAD-1]', () => {
  expect(codeOf('await Promise.all(threads.map(endComputingThread)); process.exitCode = 3')).toBe(3)
})

/** Computes in a thread of its own, and reports its graphs. */
const delegating = `
import { parentPort } from 'node:worker_threads'
const { endWhenAsked, startComputingThread } = await import(${sibling('./computing-thread.ts')})
endWhenAsked()
const thread = startComputingThread(new URL('./computing.mjs', import.meta.url), {})
thread.on('message', (message) => parentPort.postMessage(message))`

it('a thread that has threads of its own ends after them [THREAD-1]', () => {
  expect(codeOf('await Promise.all(threads.map(endComputingThread)); process.exitCode = 3', delegating)).toBe(
    3,
  )
})

// [THREAD-2]
it('a process that has nothing left to do but wait ends with the code that says so', () => {
  const waiting = 'for (const thread of threads) thread.unref()\nawait new Promise(() => {})'
  expect(codeOf(waiting, computing, /unsettled top-level await/)).toBe(13) // Node's code for it
})

it('a process that exits while graphs run keeps its exit code and aborts nothing [THREAD-2]', () => {
  expect(codeOf('process.exit(130)')).toBe(130)
})

/** Never comes back to its messages. */
const endless = `
import { parentPort } from 'node:worker_threads'
const { endWhenAsked } = await import(${sibling('./computing-thread.ts')})
endWhenAsked()
for (let runs = 0; runs < 3; runs++) parentPort.postMessage('runs')
for (;;);`

it('a thread that does not come back is left, and the process ends with its own code [THREAD-3]', () => {
  const leaving = 'await Promise.all(threads.map((thread) => endWithin(thread, 100))); process.exit(3)'
  expect(codeOf(leaving, endless)).toBe(3)
})
