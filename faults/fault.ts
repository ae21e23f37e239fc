/**
 * The fault: what every class of this project that says what went wrong has in common.
 *
 * Invariants
 * - A fault says by its `kind` what went wrong, by its message what to do, and by its `cause` where it came from.
 * - Whether trying again can help is decided where the fault is defined, by its kinds alone.
 * - `name` is a literal: histories, retry policies and logs of other releases hold it.
 */

export interface FaultOptions {
  readonly cause?: unknown
}

export abstract class Fault<Kind extends string = string> extends Error {
  /** Kinds of which trying again cannot help; a class that gives none may be tried again. */
  protected static readonly permanentKinds: 'all' | readonly string[] = []

  abstract override readonly name: string
  readonly kind: Kind
  /** Trying again cannot help. */
  readonly permanent: boolean

  constructor(kind: Kind, message: string, options?: FaultOptions) {
    super(message, options)
    const { permanentKinds } = new.target
    this.kind = kind
    this.permanent = permanentKinds === 'all' || permanentKinds.includes(kind)
  }
}
