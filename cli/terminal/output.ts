/**
 * The streams of a command: the text that they pass on, and the command's end when the reader has gone, the terminal is closed
 * or the device is full.
 *
 * Invariants
 * - [OUTPUT-1] A command that only answers ends: quietly and with 0 where the reader has left, with one line
 *   on standard error and 1 where output is lost.
 * - [OUTPUT-2] A command that works, and therefore listens to signals, continues without its output and says so in its
 *   log; it ends with 1 in place of 0 where output is lost.
 * - [OUTPUT-3] A failed write never prints a stack trace.
 * - [OUTPUT-4] All text on a stream of this process is written without control codes, that of the user's modules too.
 */
import { AsyncResource } from 'node:async_hooks'
import { shownText } from '../../machine/files/shown-text.ts'
import { exitCodes } from './failure.ts'
import { isListening } from './interrupt.ts'

/** The reader's own decision: `head` has its lines, or a terminal was closed. */
const leftCodes: ReadonlySet<string> = new Set(['EPIPE', 'EIO', 'ECONNRESET', 'ERR_STREAM_DESTROYED'])

const { promise: lost, resolve: lose } = Promise.withResolvers<string>()
let works = false
let state: 'written' | 'left' | 'failed' = 'written'

type Streams = Pick<NodeJS.Process, 'stdout' | 'stderr' | 'exit'>

/** Looks after the streams of this process. */
export function guardOutput(streams: Streams = process): void {
  const { stdout, stderr } = streams
  filter(stdout)
  filter(stderr)
  // Errors of standard error have nowhere to go.
  stderr.on('error', () => undefined)
  // A module of the user that writes may not end the process; the guard of its stream may.
  const onLost = AsyncResource.bind((fault: NodeJS.ErrnoException) => {
    if (state !== 'written') return
    const hasLeft = leftCodes.has(fault.code ?? '')
    const words = hasLeft
      ? 'standard output was closed'
      : `standard output cannot be written: ${fault.message}`
    if (!hasLeft) stderr.write(`error: ${words}\n`)
    if (!works && !isListening()) streams.exit(hasLeft ? exitCodes.done : exitCodes.failed)
    state = hasLeft ? 'left' : 'failed'
    lose(`${words}; the work continues without it`)
  })
  stdout.on('error', onLost)
}

/** For a command that has not begun to listen: its work does not hang on its output. */
export function workWithoutOutput(): void {
  works = true
}

/** The code that a command ends with, which is no success where its output was lost. */
export function codeWithOutput(code: number): number {
  return code === exitCodes.done && state === 'failed' ? exitCodes.failed : code
}

/** Once a session is open: says in the log of its workers when standard output is lost. */
export function logLostOutput(): void {
  void lost.then(async (line) => {
    const { logged } = await import('../../temporal/runtime.ts')
    logged(() => undefined)(line)
  })
}

/** The unfiltered stream of each filtered one. */
const originals = new WeakMap<object, NodeJS.WriteStream>()
/** The one control sequence that passes: a package shows the cursor again when the process ends. */
const showCursor = '\u001b[?25h'

/** The stream without its filter, for views that move the cursor; the caller cleans the text. */
export function unfiltered(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  return originals.get(stream) ?? stream
}

function filter(stream: NodeJS.WriteStream): void {
  const write = stream.write.bind(stream)
  const original = new Proxy(stream, {
    get(target, key) {
      if (key === 'write') return write
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  originals.set(stream, original)
  // A character may be cut between two chunks of bytes.
  const decoder = new TextDecoder()
  const shown = (chunk: string | Uint8Array): string =>
    shownText(typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }))
  // Two signatures of one method: with an encoding and without.
  stream.write = ((chunk: string | Uint8Array, ...rest: never[]) =>
    write(chunk === showCursor ? chunk : shown(chunk), ...rest)) as typeof stream.write
}
