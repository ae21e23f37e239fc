/**
 * Gates as they hold now.
 *
 * Invariants
 * - [GATE-SETTINGS-1] An order to the running run holds over its configuration, gate by gate.
 */
import type { RunConfig } from '../config/schema/schema.ts'
import { settingsInForce } from '../learning/run/settings-in-force.ts'

type Gate = RunConfig['evaluation']['gates'][number]

/** By the position of a gate, the largest loss that an order allows it. */
export type GateDrops = Readonly<Record<number, number>>

/** @param of the configuration of a run with the orders since; a run that an earlier release started has neither */
export function gatesInForce(of: {
  readonly config: RunConfig
  readonly gateDrops?: GateDrops
}): readonly Gate[] {
  const gates: readonly Gate[] = of.config.evaluation.gates ?? []
  return gates.map((gate, position) => settingsInForce(gate, { drop: of.gateDrops?.[position] }))
}
