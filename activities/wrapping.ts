/**
 * Wrapping: the same rule around every activity of a set.
 *
 * Invariants
 * - Names and types stay as they are; only what happens around a call changes.
 */

/** Activities by name, each with one argument object. */
export type Activities = Readonly<Record<string, (argument: never) => Promise<unknown>>>

/** The same activities, each called by `around`, which decides what happens before and after. */
export function wrapEach<A extends Activities>(
  activities: A,
  around: (call: () => Promise<unknown>) => Promise<unknown>,
): A {
  const wrapped = Object.entries(activities).map(([name, activity]) => [
    name,
    (argument: never) => around(() => activity(argument)),
  ])
  return Object.fromEntries(wrapped) as A
}
