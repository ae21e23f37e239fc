/**
 * The thread that runs workflow code, without what the SDK spends there on code that it does not know.
 *
 * - Watchdog: the SDK calls into the sandbox several times per workflow task with a time limit, and Node starts and
 *   joins a thread for each such call: 0.1–0.35 ms against 0.006 ms without. That was 38 % of the CPU of a turn
 *   (`npm run bench -- orchestration`). It guards against workflow code that never yields; ours is fixed, small and
 *   tested, and the server's own timeout remains.
 * - Call stacks: the SDK keeps a formatted stack of every promise, compiling code three times for each, so that
 *   a person may ask a running workflow where it waits. That was a further sixth. Summaries and current details say it
 *   in words; who needs the stacks sets PERDURE_CALL_STACKS=1.
 *
 * Invariants
 * - Only threads that the SDK starts for workflow code are touched, and only while a worker is being created.
 * - A workflow that is asked for its stack answers with it, or says that stacks are not kept.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module'
import type * as threads from 'node:worker_threads'

/** Asks for call stacks of workflows. */
const callStacksVariable = 'PERDURE_CALL_STACKS'

/** Runs in the new thread before the SDK's code. */
const withoutTimeLimit = `
import vm from 'node:vm'
const { runInContext } = vm.Script.prototype
vm.Script.prototype.runInContext = function (context, options) {
  return runInContext.call(this, context, { ...options, timeout: undefined })
}`

/** The same; a thread that never set its hook answers that stacks are not enabled. */
const withoutCallStacks = (threadFile: string): string => `
import { createRequire } from 'node:module'
createRequire(${JSON.stringify(threadFile)})('./vm-shared.js').globalHandlers.setPromiseHook = () => undefined`

const workflowThreadFile = /@temporalio[\\/]worker[\\/]lib[\\/]workflow[\\/]workflow-worker-thread\.js$/

let creating = 0
let original: typeof threads.Worker | undefined

/** Creates workers whose workflow threads are free of both. */
export async function withLeanThreads<T>(create: () => Promise<T>): Promise<T> {
  const module = createRequire(import.meta.url)('node:worker_threads') as { Worker: typeof threads.Worker }
  original ??= module.Worker
  creating += 1
  module.Worker = preloading(original)
  syncBuiltinESMExports()
  try {
    return await create()
  } finally {
    creating -= 1
    if (creating === 0) {
      module.Worker = original
      syncBuiltinESMExports()
    }
  }
}

function preloading(base: typeof threads.Worker): typeof threads.Worker {
  return class extends base {
    constructor(file: string | URL, options: threads.WorkerOptions = {}) {
      const isWorkflowThread = typeof file === 'string' && workflowThreadFile.test(file)
      super(file, isWorkflowThread ? { ...options, execArgv: preloadsOf(file) } : options)
    }
  }
}

function preloadsOf(file: string): string[] {
  const keepsStacks = process.env[callStacksVariable] === '1'
  const preloads = [withoutTimeLimit, ...(keepsStacks ? [] : [withoutCallStacks(file)])]
  return preloads.flatMap((code) => ['--import', `data:text/javascript,${encodeURIComponent(code)}`])
}
