import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Fault } from '../../faults/fault.ts'
import { CallFailed, ThreadCalls, type ThreadLoss } from './thread-calls.ts'

class SumFault extends Fault<'too_large'> {
  override readonly name = 'SumFault'
  protected static override readonly permanentKinds = 'all'
}

type Adding = {
  readonly sum: { readonly request: Float64Array; readonly reply: number; readonly progress: number }
  readonly refuse: { readonly request: 'fault' | 'error'; readonly reply: never }
  readonly crash: { readonly request: number; readonly reply: never }
  readonly remember: { readonly request: number; readonly reply: undefined }
  readonly recall: { readonly request: undefined; readonly reply: readonly number[] }
  readonly never: { readonly request: undefined; readonly reply: never }
}

const sibling = (file: string) => JSON.stringify(new URL(file, import.meta.url).href)
const program = `
import { serveCalls } from ${sibling('./thread-answers.ts')}
import { Fault } from ${sibling('../../faults/fault.ts')}
class SumFault extends Fault { name = 'SumFault' }
const remembered = []
serveCalls({
  sum: (numbers, onProgress) => numbers.reduce((sum, one, at) => (onProgress(at), sum + one), 0),
  refuse: (how) => { throw how === 'fault' ? new SumFault('too_large', 'too large') : new RangeError('too far') },
  crash: (code) => process.exit(code),
  remember: (number) => { remembered.push(number) },
  recall: () => remembered,
  never: () => new Promise(() => {}),
})`

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-thread-'))
  writeFileSync(join(folder, 'adding.mjs'), program)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const workers: Worker[] = []
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.terminate()))
})

function start(): { calls: ThreadCalls<Adding>; losses: ThreadLoss[]; ready: Promise<void> } {
  const worker = new Worker(pathToFileURL(join(folder, 'adding.mjs')))
  workers.push(worker)
  const losses: ThreadLoss[] = []
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  const calls = new ThreadCalls<Adding>(worker, {
    faults: [SumFault],
    onReady: resolve,
    onLoss(loss) {
      losses.push(loss)
      return new Error('the thread is lost')
    },
  })
  return { calls, losses, ready }
}

test('calls are answered in their order, with progress on the way, and arrays are transferred', async () => {
  const { calls, ready } = start()
  await ready
  const numbers = Float64Array.of(1, 2, 4)
  const progress: number[] = []
  const sum = calls.call('sum', numbers, {
    transfer: [numbers.buffer],
    onProgress: (done) => progress.push(done),
  })
  // A transferred array is empty here.
  expect(numbers.byteLength).toBe(0)
  expect(await sum).toBe(7)
  expect(progress).toEqual([0, 1, 2])
  calls.tell('remember', 1)
  calls.tell('remember', 2)
  expect(await calls.call('recall', undefined)).toEqual([1, 2])
})

test('a fault arrives as its class, and what is no known fault as a failed call', async () => {
  const { calls } = start()
  const fault = await calls.call('refuse', 'fault').catch((thrown) => thrown)
  expect(fault).toBeInstanceOf(SumFault)
  expect(fault).toMatchObject({ kind: 'too_large', message: 'too large', permanent: true })
  const error = await calls.call('refuse', 'error').catch((thrown) => thrown)
  expect(error).toBeInstanceOf(CallFailed)
  expect(error).toMatchObject({ message: 'too far' })
})

test('the death of a thread fails its calls, those that come later included', async () => {
  const { calls, losses } = start()
  const both = [calls.call('crash', 3), calls.call('recall', undefined)]
  for (const call of await Promise.allSettled(both))
    expect(call).toMatchObject({ status: 'rejected', reason: { message: 'the thread is lost' } })
  expect(losses).toEqual([{ exitCode: 3 }])
  expect(calls.isLost).toBe(true)
  await expect(calls.call('recall', undefined)).rejects.toThrow('the thread is lost')
  calls.tell('remember', 1)
})

test('a call that is aborted fails at once with the reason', async () => {
  const { calls } = start()
  const giving = new AbortController()
  const call = calls.call('never', undefined, { signal: giving.signal })
  giving.abort(new Error('not wanted'))
  await expect(call).rejects.toThrow('not wanted')
})

test('a closed thread owes nothing: its calls fail with what it was closed for', async () => {
  const { calls, losses } = start()
  const call = calls.call('never', undefined)
  calls.fail(new Error('closed'))
  await expect(call).rejects.toThrow('closed')
  await Promise.all(workers.map((worker) => worker.terminate()))
  expect(losses).toEqual([])
})
