/**
 * Episodes that evaluations of an experiment's runs have lost: an experiment that is asked for again plays them again.
 *
 * Invariants
 * - [LOST-EPISODES-1] Only incomplete evaluations of runs that are done are repeated. An evaluation that cannot be
 *   repeated, e.g. because its checkpoint is gone, is reported; the others are repeated all the same.
 */
import { reasonOf } from '../../faults/reason.ts'
import type { RunId } from '../../identity/identity.ts'
import { episodeCountWords, isComplete } from '../../learning/evaluation/evaluation-completeness.ts'
import type { RunEvaluations } from '../run/evaluations.ts'
import type { SessionParts } from '../run/run-calls.ts'
import { knownExperiment } from './experiments.ts'
import { measureRuns } from './measured-runs.ts'

export interface ExperimentLosses {
  /**
   * Repeats the incomplete evaluations of an experiment, one after the other.
   * @param elsewhere runs that are done elsewhere
   * @throws SessionFault `unknown_experiment`
   */
  playLostEpisodes(name: string, elsewhere?: readonly RunId[]): Promise<void>
}

export function createExperimentLosses(
  { store, home, log }: Pick<SessionParts, 'store' | 'home' | 'log'>,
  { evaluate }: RunEvaluations,
): ExperimentLosses {
  return {
    async playLostEpisodes(name, elsewhere = []) {
      const { statement } = await knownExperiment(store, home, name)
      const done = (await measureRuns(store, statement)).filter(
        ({ run, status }) => status === 'done' && !elsewhere.includes(run),
      )
      for (const { run, figures } of done)
        for (const { suite, version, n, planned } of figures) {
          if (isComplete({ n, planned })) continue
          log(
            `${run} v${version} on ${suite} has ${episodeCountWords({ n, planned })}: those are played again`,
          )
          try {
            await evaluate(run, { suite, version })
          } catch (error) {
            log(`the evaluation of ${run} v${version} on ${suite} stays incomplete: ${reasonOf(error)}`)
          }
        }
    },
  }
}
