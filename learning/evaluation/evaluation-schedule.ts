/**
 * Evaluation schedule: after which updates a run evaluates its version.
 *
 * Invariants
 * - Version 0 is always evaluated, so that there is something to compare with.
 */

/** @param step updates done @param every updates between two evaluations; 0: only the first and the last */
export function isEvaluationDue(step: number, every: number): boolean {
  return step === 0 || (every > 0 && step % every === 0)
}
