/**
 * A thread of counters, for tests of threads that sessions share.
 *
 * Invariants
 * - A counter is made again by what was added to it.
 */
import type { AnsweringMethods } from '../../envs/threads/thread.ts'
import { serveCalls } from '../../machine/modules/thread-answers.ts'

export type CounterRequest =
  | { readonly kind: 'open' | 'close' | 'count' | 'fill' | 'throw' | 'crash'; readonly counter: number }
  | { readonly kind: 'add'; readonly counter: number; readonly count: number }
  | { readonly kind: 'spin'; readonly counter: number; readonly ms: number }

const counters = new Map<number, number>()
const filled: unknown[] = []

function answer(request: CounterRequest): number {
  const { counter, kind } = request
  if (kind === 'open') counters.set(counter, 0)
  const count = counters.get(counter)
  if (count === undefined) throw new RangeError(`no counter ${counter}`)
  if (kind === 'close') counters.delete(counter)
  if (kind === 'add') counters.set(counter, count + request.count)
  if (kind === 'spin') for (const end = performance.now() + request.ms; performance.now() < end; );
  if (kind === 'fill') for (;;) filled.push(Array.from({ length: 1000 }, () => ({})))
  if (kind === 'throw') throw new Error('cannot be done')
  if (kind === 'crash') process.exit(3)
  return counters.get(counter) ?? 0
}

serveCalls<AnsweringMethods<CounterRequest, number>>({ answer })
