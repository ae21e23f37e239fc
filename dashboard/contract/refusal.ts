/** Why a route did not answer. */

export interface Refusal {
  readonly error: {
    readonly kind: RefusalKind
    /** The error and the remedy, for a person. */
    readonly message: string
  }
}

export type RefusalKind =
  | 'unknown'
  /** The question is wrong: a parameter, a body. */
  | 'bad_request'
  /** The body is larger than any order. */
  | 'too_large'
  /** Another host, another site, no token; or orders where the page may not steer. */
  | 'forbidden'
  /** The run heard an order that it cannot follow; the message has its words. */
  | 'refused'
  /** The server fails: the store cannot be read, or no Temporal server answers. */
  | 'unavailable'
