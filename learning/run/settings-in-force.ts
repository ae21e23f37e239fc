/**
 * The settings that hold now: a section of the configuration, and what was ordered of the running run since.
 *
 * Invariants
 * - An order holds over the configuration, key by key; what was not ordered is as it was configured.
 */

/** @example settingsInForce({ clipLow: 0.2, clipHigh: 0.2 }, { clipHigh: 0.3 }) // { clipLow: 0.2, clipHigh: 0.3 } */
export function settingsInForce<Section extends object>(
  configured: Section,
  ordered: { readonly [Key in keyof Section]?: Section[Key] | undefined },
): Section {
  const given = Object.entries(ordered).filter(([, value]) => value !== undefined)
  return { ...configured, ...Object.fromEntries(given) }
}
