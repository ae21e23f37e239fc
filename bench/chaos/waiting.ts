/**
 * Waiting for conditions, by looking again and again.
 *
 * Invariants
 * - A wait ends with its condition, its deadline or its cancellation, never by a fixed time alone.
 */
import { setTimeout as delay } from 'node:timers/promises'

/** A condition did not come true in time. */
export class ChaosFault extends Error {
  override readonly name = 'ChaosFault'
}

export interface WaitOptions {
  readonly seconds: number
  readonly everyMs?: number
  readonly signal?: AbortSignal | undefined
}

/** Looks until there is a value; undefined where the time was up before. */
export async function within<T>(
  look: () => T | undefined | Promise<T | undefined>,
  { seconds, everyMs = 25, signal }: WaitOptions,
): Promise<T | undefined> {
  const until = performance.now() + 1000 * seconds
  for (;;) {
    signal?.throwIfAborted()
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > until) return undefined
    await delay(everyMs)
  }
}

/** As `within`. @throws ChaosFault when the time is up */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  wait: WaitOptions,
): Promise<T> {
  const found = await within(look, wait)
  if (found === undefined) throw new ChaosFault(`waited ${wait.seconds} s for ${what}, which did not come`)
  return found
}

/** How long a fault looks out for its moment. */
export const momentSeconds = 60

/** Looks for a moment that passes in milliseconds. @returns false where it did not come */
export async function polled(
  { signal }: { readonly signal: AbortSignal },
  isNow: () => boolean,
): Promise<boolean> {
  const look = () => (isNow() ? true : undefined)
  return (await within(look, { seconds: momentSeconds, everyMs: 3, signal })) === true
}
