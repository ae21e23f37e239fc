/**
 * Threads that run graphs: how they are started and how they end.
 *
 * The runtime's binding (1.30) throws across the border of C++ when its thread is torn down while a graph runs, and
 * that aborts the whole process.
 *
 * Invariants
 * - [THREAD-1] A computing thread ends between two graphs, because it was asked to; it is never torn down inside one.
 * - [THREAD-2] A process that exits while graphs run keeps its exit code and aborts nothing.
 * - [THREAD-3] A thread that does not end in time, because code of a module never comes back to it, is left and keeps nothing waiting.
 */
import { isMainThread, parentPort, Worker, type WorkerOptions } from 'node:worker_threads'
import './telemetry.ts'

/** No message of an engine or a trainer is a plain text. */
const endMessage = 'end'

/** Threads of this process that may be inside the runtime. */
const living = new Set<Worker>()

/** Starts a thread whose module calls `endWhenAsked`. */
export function startComputingThread(module: URL, options: WorkerOptions): Worker {
  if (living.size === 0 && isMainThread) process.on('exit', replaceProcess)
  const thread = new Worker(module, options)
  living.add(thread)
  thread.once('exit', () => {
    living.delete(thread)
    if (living.size === 0) process.off('exit', replaceProcess)
  })
  return thread
}

/** Longer than any graph that is in use runs. */
const endMs = 30_000

/** Asks a thread to end. Settles when it has: after the graph that it runs now. */
export function endComputingThread(thread: Worker): Promise<void> {
  return endWithin(thread, endMs)
}

/** The same, waiting that many milliseconds at most. */
export async function endWithin(thread: Worker, withinMs: number): Promise<void> {
  if (!living.has(thread)) return
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  thread.once('exit', () => resolve())
  thread.ref()
  thread.postMessage(endMessage)
  const timer = setTimeout(resolve, withinMs)
  await ended
  clearTimeout(timer)
  thread.unref()
}

/**
 * To be called by the module of a computing thread. Messages are delivered between two graphs. The threads that it
 * started end before it, because they would be torn down with it.
 */
export function endWhenAsked(): void {
  parentPort?.on('message', async (message: unknown) => {
    if (message !== endMessage) return
    await Promise.all([...living].map(endComputingThread))
    process.exit()
  })
}

/**
 * Exiting tears all threads down. Another program in the place of this process does not: the system ends the threads
 * wherever they are, and the shell gives the exit code. Threads of the tests' runner cannot do this and keep the plain exit.
 */
function replaceProcess(code: number): void {
  if (process.platform !== 'win32' && process.execve !== undefined)
    process.execve('/bin/sh', ['sh', '-c', `exit ${code}`], {})
}
