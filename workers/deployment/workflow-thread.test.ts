import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import threads, { Worker } from 'node:worker_threads'
import { afterAll, expect, it } from 'vitest'
import { withLeanThreads } from './workflow-thread.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-thread-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A thread that tells whether a call into a context was given its time limit, by whether it is stopped. */
const code = `
const { parentPort } = require('node:worker_threads')
const vm = require('node:vm')
try {
  new vm.Script('const until = Date.now() + 60; while (Date.now() < until);').runInContext(vm.createContext({ Date }), { timeout: 5 })
  parentPort.postMessage('no limit')
} catch (error) {
  parentPort.postMessage(error.code)
}`

async function answerOf(path: string): Promise<unknown> {
  const file = join(folder, path)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, code)
  writeFileSync(join(file, '../vm-shared.js'), 'exports.globalHandlers = {}')
  const thread = new threads.Worker(file)
  try {
    return await new Promise((resolve, reject) => {
      thread.once('message', resolve)
      thread.once('error', reject)
    })
  } finally {
    await thread.terminate()
  }
}

const workflowThread = 'node_modules/@temporalio/worker/lib/workflow/workflow-worker-thread.js'

it('a workflow thread that starts while a worker is being created has no watchdog', async () => {
  expect(await withLeanThreads(() => answerOf(workflowThread))).toBe('no limit')
})

it('other threads, and threads that start later, are as they were', async () => {
  const before = threads.Worker
  expect(await withLeanThreads(() => answerOf('other.js'))).toBe('ERR_SCRIPT_EXECUTION_TIMEOUT')
  expect(await answerOf(workflowThread)).toBe('ERR_SCRIPT_EXECUTION_TIMEOUT')
  expect(threads.Worker).toBe(before)
  expect(Worker).toBe(before)
})
