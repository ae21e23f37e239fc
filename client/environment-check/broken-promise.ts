/** Items of `perdure env check`. */

/** An item was not kept. */
export class BrokenPromise extends Error {
  override readonly name = 'BrokenPromise'
}

/** An item that is tried: it says what it saw, or throws what went wrong. */
export type CheckItem = readonly [name: string, attempt: () => Promise<string>]
