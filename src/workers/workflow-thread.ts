/**
 * The thread that runs workflow code, without Node's watchdog.
 *
 * The SDK calls into the sandbox several times per workflow task with a time limit, and Node starts and joins
 * a watchdog thread for each such call: 0.1–0.35 ms against 0.006 ms without. That was 38 % of the CPU of a
 * turn (`npm run bench -- orchestration`: 289 → 464 turns/s by local dispatch). The limit guards against
 * workflow code that never yields; ours is fixed, small and tested, and the server's own timeout remains.
 *
 * Invariants
 * - Only threads that the SDK starts for workflow code are touched, and only while a worker is being created.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module'
import type * as threads from 'node:worker_threads'

/** Runs in the new thread before the SDK's code. */
const preload = `
import vm from 'node:vm'
const { runInContext } = vm.Script.prototype
vm.Script.prototype.runInContext = function (context, options) {
  return runInContext.call(this, context, { ...options, timeout: undefined })
}`

const workflowThreadFile = /@temporalio[\\/]worker[\\/]lib[\\/]workflow[\\/]workflow-worker-thread\.js$/

let creating = 0
let original: typeof threads.Worker | undefined

/** Creates workers whose workflow threads have no watchdog. */
export async function withoutWatchdog<T>(create: () => Promise<T>): Promise<T> {
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
      const execArgv = ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
      const isWorkflowThread = typeof file === 'string' && workflowThreadFile.test(file)
      super(file, isWorkflowThread ? { ...options, execArgv } : options)
    }
  }
}
