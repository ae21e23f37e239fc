/**
 * `referee`: methods compared on fixed panels; `referee verify CARD`: a result card graded again from the actions in it.
 *
 * Invariants
 * - A card of which anything differs is refused with what differs, and the command fails.
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Argument, Command } from 'commander'
import { gradeCard } from '../../client/referee/card-grading.ts'
import { panelNames } from '../../client/referee/panel.ts'
import { CardFault, type CardPanel, readCard } from '../../client/referee/result-card.ts'
import { EnvironmentFault, type Task } from '../../envs/contract/environment.ts'
import { openWatched, saidBy } from '../../envs/contract/watched-task.ts'
import { environments } from '../../envs/registry.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { taskAt, taskFrom } from '../tasks/task-address.ts'
import { positiveInteger, type ReportOptions, reporting, setOption, shellPath } from '../terminal/options.ts'
import { openTerminal, type Terminal } from '../terminal/terminal.ts'
import { referee } from './referee-run.ts'

interface VerifyFlags extends ReportOptions {
  readonly from?: string
  readonly data?: string
}

/** `perdure referee verify CARD`. */
export function refereeCommand(): Command {
  return reporting(
    new Command('referee')
      .summary('compare methods on fixed panels, and verify result cards')
      .description(
        'Runs each method on each panel, a row with a result card of its own, and compares them by the cards: against their own\n' +
          'start, and against grpo at equal updates and at equal processor time. The same command continues it, and runs no row twice.',
      )
      .addArgument(
        new Argument('[panels...]', 'panels to play, all by default')
          .choices(panelNames)
          .default(panelNames, 'all'),
      )
      .option('--methods <names...>', 'methods by name, or paths of algorithms of your own; all by default')
      .option('--seeds <n>', 'seeds of each method', positiveInteger, 5)
      .option('--out <dir>', 'folder of the cards', shellPath, 'referee')
      .option('--parallel <n>', 'runs in progress at once; compare by time only with 1', positiveInteger, 1)
      .addOption(setOption())
      .option('--no-run', 'show the tables of the cards that are there'),
    [
      'referee offers --methods grpo self_imitation --seeds 3',
      'referee offers --methods ./my-algorithm.ts',
      'referee --no-run --json',
      'referee verify referee/offers/offers-grpo.card.json',
    ],
  )
    .action(referee)
    .addCommand(verifyCommand())
}

function verifyCommand(): Command {
  return reporting(
    new Command('verify')
      .summary('grade a result card again from the actions in it')
      .description(
        'Plays every episode of a card again from its actions, and computes its figures and claims from what they earn. A card of\n' +
          'which anything differs is refused with what differs. It needs neither the runs nor their checkpoints.',
      )
      .argument('<card>', 'NAME.card.json, as `experiment report` writes it with --out', shellPath)
      .option(
        '--from <path>',
        'where the environment of a user is; by default where the card says, from this folder',
      )
      .option('--data <dir>', "official data: a folder with a folder of each task's name", shellPath),
    [
      'referee verify results/smoke.card.json',
      'referee verify results/smoke.card.json --from examples/guess-number --json',
    ],
  ).action(async (file: string, options: VerifyFlags) => {
    const terminal = openTerminal(options)
    const graded = await gradeCard(
      readCard(file),
      (panel) => openPanel(panel, options, terminal),
      (episodes) => terminal.draw([`${episodes} episodes played again`]),
    )
    terminal.settle()
    terminal.report({ card: file, verified: true, ...graded }, [
      `${file} is verified: ${graded.episodes} episodes played again earn what it says, and give its ${graded.figures} figures and ${graded.claims} claims.`,
    ])
  })
}

async function openPanel(
  { task, from, settings }: CardPanel,
  { data, home, from: given }: VerifyFlags,
  terminal: Terminal,
): Promise<Task> {
  const isRegistered = environments.some(({ name }) => name === task)
  const folder = homeAt(home).environmentsDir
  const own = data === undefined ? undefined : join(data, task)
  const dataDir = own !== undefined && existsSync(own) ? own : data
  try {
    const definition = isRegistered
      ? await taskAt(task)
      : await taskFrom(given ?? from ?? task, task, settings)
    return await openWatched(definition, { dataDir, settings, folder }, saidBy(terminal.say))
  } catch (cause) {
    if (!(cause instanceof EnvironmentFault)) throw cause
    throw new CardFault('cannot_grade', `${task} cannot be opened here: ${cause.message}`, { cause })
  }
}
