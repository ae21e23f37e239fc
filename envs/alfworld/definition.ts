/**
 * The household task: ALFWorld's games where their data is given, else the built-in ones.
 *
 * Invariants
 * - Both kinds of games run in the same engine, behind the same tool, under the same rules.
 * - The texts of a version never change: a policy that was trained on one is evaluated on the same.
 */
import type { GameSource } from '../../worlds/text-adventure/game.ts'
import {
  type EnvironmentDefinition,
  EnvironmentFault,
  type InstanceId,
  type Task,
  type TaskOptions,
} from '../contract/environment.ts'
import type { Library } from '../contract/library.ts'
import { openDataset } from './dataset.ts'
import { adviserOf, demonstrateByExpert, demonstrateByWalkthrough } from './demonstration.ts'
import { type Dialect, dialectOf, householdDialect } from './dialect.ts'
import { openGame } from './engine.ts'
import { createSession } from './game-session.ts'
import { openHousehold } from './household/generator.ts'
import { withRearranged } from './rearranged-home.ts'
import { type HouseholdSettings, readSettings } from './settings.ts'

export const alfworld: EnvironmentDefinition = {
  name: 'alfworld',
  summary:
    'Household errands in a text world: find things, take, clean, heat or cool them, put them where they belong.',
  source: 'ALFWorld release 0.4.2 (alfworld.github.io), json_2.1.3_tw-pddl; without it built-in games',
  licence: 'MIT (ALFWorld); built-in games Apache-2.0',
  reward: '1 when the errand is done, less `commandCost` for each command; else 0',
  replayable: true,
  replayableBecause: 'a game has no randomness: the same commands reach the same state',
  turnLimit: 20,
  open: openAlfworld,
}

async function openAlfworld({ dataDir, settings: given }: TaskOptions): Promise<Task> {
  const settings = readSettings(given)
  if (dataDir === undefined) {
    if (settings.demonstrations === 'walkthrough')
      throw new EnvironmentFault(
        'bad_settings',
        'settings of alfworld: only official games have walkthroughs; set demonstrations to "expert" or give the data folder',
      )
    return openTask(openHousehold(settings), () => householdDialect, settings)
  }
  const games = withRearranged(await openDataset(dataDir), settings.rearranged)
  return openTask(games, dialectOf, settings)
}

function openTask(
  { splits, warnings, instanceAt, open }: Library<GameSource>,
  dialectOf: (source: GameSource) => Dialect,
  settings: HouseholdSettings,
): Task {
  const { commandCost, showAdmissible, prompt } = settings
  return {
    splits,
    warnings,
    instanceAt,
    create: async () =>
      createSession({
        openInstance(instance) {
          const source = open(instance)
          return {
            game: openGame(source),
            systemPrompt: systemPrompt(prompt, dialectOf(source).words.list()),
            kind: source.kind,
          }
        },
        commandCost,
        showAdmissible,
      }),
    demonstrate: async (instance: InstanceId, take?: number) => {
      const source = open(instance)
      return settings.demonstrations === 'walkthrough'
        ? demonstrateByWalkthrough(source)
        : demonstrateByExpert(source, dialectOf(source), settings.demonstrationTurns, settings, take)
    },
    ...(settings.demonstrations === 'expert'
      ? { advise: (instance: InstanceId) => adviserOf(dialectOf(open(instance)), settings) }
      : {}),
    close: async () => {},
  }
}

const short = 'Do the household task with take_action.'

const full = `You are in a household and do one task there, step by step, through text commands.
In every turn call the tool take_action once, with one command as its "action".
At first you see the places of the home and the task. Things are at those places, some of them inside closed furniture; go from place to place, open what is closed, and look for what you need.
You carry one thing at a time. Use names with their numbers, as you have read them.
Commands: {commands}.
A command that cannot be done is answered "Nothing happens."; then do something else.`

/** The system message. @param commands that the game knows, as it words them */
export function systemPrompt(form: 'short' | 'full', commands: readonly string[]): string {
  return form === 'short' ? short : full.replace('{commands}', () => commands.join(', '))
}
