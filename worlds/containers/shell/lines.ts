/**
 * The lines of what the engine tells piece by piece.
 *
 * Invariants
 * - A line that is longer than the limit ends the reading: the engine's own are short.
 * - Leaving the loop, or an error, ends the stream.
 */
import type { Readable } from 'node:stream'

/** A progress line holds what a step of a build said. */
const longestLine = 2 ** 20

/** @throws Error what the stream ended with, or that a line is too long */
export async function* linesOf(stream: Readable): AsyncGenerator<string> {
  let rest = ''
  stream.setEncoding('utf8')
  for await (const chunk of stream as AsyncIterable<string>) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > longestLine) throw new Error('the engine sent a line without an end')
    for (const line of lines) if (line.trim() !== '') yield line
  }
  if (rest.trim() !== '') yield rest
}
