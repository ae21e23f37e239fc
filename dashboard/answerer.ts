/**
 * The answerer: an answer to each question of the page, from a home alone. The server asks it, and so does a report.
 *
 * Invariants
 * - Its memory between questions is bounded, and follows from the home.
 */

import { createLearntGroups } from '../client/learnt-groups.ts'
import { comparisonAnswer } from './answers/comparison.ts'
import { createCurves } from './answers/curves.ts'
import { episodesAnswer } from './answers/episodes.ts'
import { experimentAnswer, experimentsAnswer } from './answers/experiment.ts'
import { groupAnswer } from './answers/group.ts'
import { evaluationsAnswer, runAnswer } from './answers/run.ts'
import { createRunTokenizers } from './answers/run-tokenizers.ts'
import { createRunRows } from './answers/runs.ts'
import { branchesAnswer, trajectoryAnswer } from './answers/trajectory.ts'
import { policiesOf } from './contract/addresses.ts'
import type { Answers } from './contract/routes.ts'
import type { BranchesAnswer } from './contract/trajectory.ts'
import type { EpisodeStretch } from './episode-index/episode-index.ts'
import type { ShownHome } from './home/shown-home.ts'

/** All throw Refused `unknown` for what the home does not have. */
/** A larger batch file would be noticed by those who wait for an episode. */
const largestTokenFile = 64 * 1024 * 1024

export interface Answerer {
  runs(): Promise<Answers['runs']>
  run(run: string): Promise<Answers['run']>
  curves(run: string, after: number): Promise<Answers['curves']>
  evaluations(run: string): Promise<Answers['evaluations']>
  /** @param of policies as a text names them, e.g. `first,second@20` */
  comparison(of: string): Promise<Answers['comparison']>
  experiments(): Promise<Answers['experiments']>
  experiment(experiment: string): Promise<Answers['experiment']>
  episodes(filter: string, stretch: EpisodeStretch): Promise<Answers['episodes']>
  group(parent: string): Promise<Answers['group']>
  trajectory(episode: string): Promise<Answers['trajectory']>
  branches(episode: string, asked: BranchesAnswer['asked']): Promise<Answers['branches']>
}

export function createAnswerer(shown: ShownHome): Answerer {
  const rows = createRunRows(shown)
  const curves = createCurves(shown)
  const learnt = createLearntGroups({ ...shown, largestTokenFile })
  const tokenizers = createRunTokenizers(shown.home)
  return {
    runs: () => rows.list(),
    run: (run) => runAnswer(shown, rows, run),
    curves: (run, after) => curves.curves(run, after),
    evaluations: (run) => evaluationsAnswer(shown, run),
    comparison: (of) => comparisonAnswer(shown, policiesOf(of)),
    experiments: () => experimentsAnswer(shown),
    experiment: (experiment) => experimentAnswer(shown, experiment),
    episodes: (filter, stretch) => episodesAnswer(shown, filter, stretch),
    group: (parent) => groupAnswer(shown, learnt, parent),
    trajectory: (episode) => trajectoryAnswer(shown, { learnt, tokenizers }, episode),
    branches: (episode, asked) => branchesAnswer(shown, episode, asked),
  }
}
