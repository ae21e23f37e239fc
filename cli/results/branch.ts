/**
 * `branch EPISODE`: play on from a turn of a recorded episode.
 *
 * Invariants
 * - The same turn, version and sample are played once; asking again shows what was played.
 * - An episode, a turn or a version that the store does not have is reported before anything starts.
 */
import { Command, InvalidArgumentError } from 'commander'
import type { BranchFindings, EpisodeRow } from '../../client/session/training-session.ts'
import { requireTurn } from '../runs/run-record.ts'
import { askWorkers } from '../terminal/command-session.ts'
import { exitCodes } from '../terminal/failure.ts'
import { type ReportOptions, reporting, wholeNumber } from '../terminal/options.ts'
import { Table } from '../terminal/table.ts'
import { openTerminal } from '../terminal/terminal.ts'

interface BranchOptions extends ReportOptions {
  readonly turn: number
  readonly samples?: number
  readonly version?: number
}

/** Children of one workflow: the server's own limit is 2,000. */
const mostSamples = 1000

/** `perdure branch EPISODE`. */
export function branchCommand(): Command {
  return reporting(
    new Command('branch')
      .summary('play on from a turn of a recorded episode')
      .description(
        'Replays the actions of a recorded episode up to a turn, and lets the policy play on from there. The continuation\n' +
          'is stored with the run, and no update or evaluation ever counts it.',
      )
      .argument('<episode>', 'id of the episode, e.g. first/g3/s0/a0')
      .requiredOption('--turn <k>', 'the first turn to play again, from 0', wholeNumber)
      .option('--samples <n>', 'how many continuations; 1 by default', sampleCount)
      .option('--version <v>', "the version that plays on; the run's newest by default", wholeNumber),
    ['branch first/g3/s0/a0 --turn 2', 'branch first/g3/s0/a0 --turn 2 --samples 8 --version 0'],
  ).action(branchEpisode)
}

async function branchEpisode(episode: string, options: BranchOptions): Promise<void> {
  const { turn, samples, version } = options
  const terminal = openTerminal(options)
  await requireTurn(options.home, episode, { turn, version })
  await askWorkers(
    options.home,
    terminal,
    (session) => session.branch(episode, { turn, samples, version }),
    (found) => {
      terminal.report(found, [headline(found), samplesTable(found)])
      if (found.samples.some((row) => row === null || row.reward === null))
        process.exitCode = exitCodes.failed
    },
  )
}

function headline({ origin, turn, version, samples }: BranchFindings): string {
  const rewards = samples.flatMap((row) => row?.reward ?? [])
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / Math.max(1, rewards.length)
  return `${origin.episode} from turn ${turn}, played on by version ${version}: mean reward ${figure(rewards.length === 0 ? null : mean)} of ${rewards.length}`
}

function samplesTable({ origin, samples, branch }: BranchFindings): Table {
  return new Table({
    head: ['episode', 'reward', 'outcome', 'turns', 'last action'],
    aligns: ['left', 'right', 'left', 'right', 'left'],
    rows: [
      cells(origin),
      ...samples.map((row, sample) =>
        row === null ? [`${branch}/s${sample}`, '—', 'failed', '', ''] : cells(row),
      ),
    ],
  })
}

function cells({ episode, reward, outcome, turns, lastAction }: EpisodeRow): string[] {
  return [episode, figure(reward), outcome, String(turns), lastAction ?? '']
}

function figure(reward: number | null): string {
  return reward === null ? '—' : String(Number(reward.toFixed(3)))
}

/** @throws InvalidArgumentError */
function sampleCount(text: string): number {
  const samples = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY
  if (samples <= mostSamples) return samples
  throw new InvalidArgumentError(`Use a whole number from 1 to ${mostSamples}.`)
}
