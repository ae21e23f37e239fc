/**
 * Last details: the server keeps the details of an execution that has ended, so that its page in the Temporal UI shows them
 * while no worker runs.
 *
 * Invariants
 * - [DETAILS-1] An execution that ends or continues as new leaves its current details in its memo, once, at its end;
 *   an execution that fails or is cancelled does so too.
 * - [DETAILS-2] They are lines of plain text: the memo is shown as JSON, where Markdown is not read.
 * - [DETAILS-3] They are bounded in bytes, whatever the details hold.
 */
import {
  ContinueAsNew,
  getCurrentDetails,
  isCancellation,
  upsertMemo,
  type WorkflowInterceptors,
} from '@temporalio/workflow'
import { clipped, jsonBytes, textBytes } from '../learning/run/state-bounds.ts'
import { reasonOf } from './calls/failure-reason.ts'
import { plainLines } from './page/links.ts'

/** Every entry of a list of workflows holds its memo too. */
export const lastDetailsBytes = 8_192

/** The name under which the SDK looks for the interceptors. */
export const interceptors = (): WorkflowInterceptors => ({
  inbound: [
    {
      async execute(input, next) {
        try {
          const result = await next(input)
          keep([])
          return result
        } catch (error) {
          keep(wordsOf(error))
          throw error
        }
      },
    },
  ],
})

function keep(ending: readonly string[]): void {
  upsertMemo({ details: lastDetails(getCurrentDetails(), ending) })
}

/** The ending of an execution that has no result, in words. */
function wordsOf(error: unknown): readonly string[] {
  // The next execution begins with this memo.
  if (error instanceof ContinueAsNew) return ['Then it continued in a new execution with the same id.']
  if (isCancellation(error)) return ['Cancelled.']
  return [`Failed: ${clipped(reasonOf(error), textBytes)}`]
}

/**
 * @param details Markdown
 * @param ending lines that follow, unless the details say them
 */
export function lastDetails(details: string, ending: readonly string[]): readonly string[] {
  const lines = plainLines(details)
  const more = ending.filter((line) => !lines.includes(line))
  const kept: string[] = []
  let left = lastDetailsBytes - jsonBytes(more) - jsonBytes('…') - 1
  for (const line of lines) {
    left -= jsonBytes(line) + 1
    if (left < 0) return [...kept, '…', ...more]
    kept.push(line)
  }
  return [...kept, ...more]
}
