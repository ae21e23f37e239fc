/** Orders: what the page may ask of a run that is in progress, where it may steer at all. */

/** The body of an order; the run's own validator refuses in words an order that it cannot follow. */
export type Order =
  | { readonly order: 'pause'; readonly reason?: string }
  | { readonly order: 'continue' }
  | { readonly order: 'stop'; readonly now?: boolean }
  /** New values of live settings by their keys, all or none; null takes one away. */
  | { readonly order: 'set'; readonly settings: Readonly<Record<string, number | null>> }
  /** The first suite by default. */
  | { readonly order: 'evaluate'; readonly suite?: string }
  | { readonly order: 'checkpoint' }
  | { readonly order: 'rollback'; readonly version: number }
  /** The version that users take; the best one of the first suite by default. Needs no run in progress. */
  | { readonly order: 'promote'; readonly version?: number }

export interface OrderTaken {
  /** In words, e.g. `evaluation held_out-v12 started`. */
  readonly taken: string
}
