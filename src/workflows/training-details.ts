/**
 * What a person reads of a run in the Temporal UI: its current details, in Markdown.
 *
 * Invariants
 * - It says only what the state says.
 */
import { setCurrentDetails } from '@temporalio/workflow'
import type { TrainingState } from './training-state.ts'

/** Tells in which phase the run is. */
export function enter(state: TrainingState, phase: TrainingState['phase']): void {
  state.phase = phase
  setCurrentDetails(describe(state))
}

/** @returns Markdown of a few lines */
export function describe(state: TrainingState): string {
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`
  const lines = [
    `**${state.phase}** · update ${state.step} of ${state.config.training.updates} · version ${state.version}`,
    `groups: ${state.inFlight.length} in flight, ${state.ready.length} ready · ${state.episodes} episodes · ${state.tokens} tokens`,
  ]
  if (state.warmStart !== null && state.warmStart.done < state.warmStart.total)
    lines.push(`warm start: part ${state.warmStart.done} of ${state.warmStart.total}`)
  for (const [task, share] of Object.entries(state.success))
    lines.push(`${task}: ${percent(share)} of the last batch`)
  for (const { suite, version, success, n } of state.evaluations)
    lines.push(`evaluation ${suite}, version ${version}: ${percent(success)} of ${n}`)
  return lines.map((line) => `- ${line}`).join('\n')
}
