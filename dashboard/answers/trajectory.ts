/**
 * A trajectory: an episode turn by turn and token by token, with what the update made of it.
 *
 * Invariants
 * - [TRAJECTORY-PAGE-1] The tokens of all turns in their order are those that the policy read and sampled, and the texts of
 *   all tokens joined are what it read and wrote.
 * - [TRAJECTORY-PAGE-2] An advantage, and what the update found of a token, is shown where the tokens are those that the
 *   update has consumed.
 * - An episode that is not what was sealed is shown as it is, with a word of warning.
 */
import { staleTurns } from '../../activities/update/update-batch.ts'
import type { LearntGroups } from '../../client/learnt-groups.ts'
import { findEnvironment, UnknownTask } from '../../envs/registry.ts'
import { branchPlace, type EpisodeId, parseEpisodeId } from '../../identity/identity.ts'
import type { LearntBranches } from '../../learning/rollout/learnt-branches.ts'
import { commandName, homeFlag, typedWords } from '../../machine/processes/typed-command.ts'
import type { Tokenizer } from '../../policy/tokenizer/tokenizer.ts'
import type { TokenFigures } from '../../policy/trainer/update/token-figures.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import type { StoredGroup } from '../../storage/records/groups.ts'
import { actionOf, type StoredAction } from '../../storage/trajectories/actions.ts'
import { isSealed, type StoredEpisode } from '../../storage/trajectories/episode.ts'
import { observationOf, outputKey, type StoredObservation } from '../../storage/trajectories/observations.ts'
import { sequencesOf, type TurnPlace } from '../../storage/trajectories/sequences.ts'
import { type TurnTime, turnTimeOf } from '../../storage/trajectories/turn-time.ts'
import type {
  BranchesAnswer,
  BranchRow,
  FoundTokens,
  Observation,
  ShownAnswer,
  Tokens,
  TrajectoryAction,
  TrajectoryAnswer,
  TrajectoryLearnt,
} from '../contract/trajectory.ts'
import type { ShownHome } from '../home/shown-home.ts'
import { episodeRow } from './episodes.ts'
import { knownRun, Refused, type ShownRun } from './known-run.ts'
import type { RunTokenizers } from './run-tokenizers.ts'

export interface TrajectoryParts {
  readonly learnt: LearntGroups
  readonly tokenizers: RunTokenizers
}

/** @throws Refused `unknown` */
export async function trajectoryAnswer(
  shown: ShownHome,
  { learnt, tokenizers }: TrajectoryParts,
  id: string,
): Promise<TrajectoryAnswer> {
  const { store } = shown
  const episode = await knownEpisode(shown, id)
  const run = await knownRun(shown, episode.run)
  const group = await store.groups.get(episode.parent as never)
  const answers = await answersOf(store, episode.id)
  const observations = (await store.observations.rows(episode.id)).map((row) => ({
    ...observationOf(row),
    ...timeOf(row),
    answers: answers.get(row.turn),
  }))
  const actions = (await store.actions.rows(episode.id)).map((row) => ({ ...actionOf(row), ...timeOf(row) }))
  const tokenizer = await tokenizers.of(run.id)
  const stale = staleOf(run, episode, { actions, group })
  const actionsShown = shownActions({ actions, observations, stale }, tokenizer)
  const siblings = (await store.episodes.list(episode.parent)).map((each) => each.id)
  const at = siblings.indexOf(episode.id)
  const last = observations[actions.length]
  const consumed = group?.consumedBy
  const { branches } = run.config.learning
  const lesson =
    consumed === undefined ? {} : await lessonOf(learnt, { episode, step: consumed, actions, branches })
  const damaged = await damageOf(shown, episode)
  return {
    row: episodeRow(episode, consumed ?? null),
    paid: observations.reduce((sum, { reward }) => sum + reward, 0),
    turns: observations.flatMap((observation, turn) => {
      const action = actionsShown[turn]
      // In an episode that has ended, the observation after the last action is the ending.
      if (action === undefined && turn > 0 && isSealed(episode)) return []
      return [
        { turn, observation: shownObservation(observation), ...(action === undefined ? {} : { action }) },
      ]
    }),
    ...(last !== undefined && isSealed(episode) && actions.length > 0
      ? { ending: shownObservation(last) }
      : {}),
    ...outputOf(last),
    ...lesson,
    hasTexts: tokenizer !== undefined,
    branching: branchingOf(run, episode),
    play: playCommand(run, episode),
    before: siblings[at - 1] ?? null,
    after: siblings[at + 1] ?? null,
    ...shown.temporalPage(episode.id),
    ...(damaged === undefined ? {} : { damaged }),
  }
}

/** The last words of an agent's own program. */
function outputOf(last: StoredObservation | undefined): Pick<TrajectoryAnswer, 'output'> {
  const output = last?.info[outputKey]
  return typeof output === 'string' ? { output } : {}
}

/** Data and settings are those of the first entry of the task in the mix. */
function playCommand({ config }: ShownRun, { task, instance }: StoredEpisode): string {
  const { from, data, settings = {} } = config.tasks.find((entry) => entry.task === task) ?? {}
  const words = [
    ...['env', 'play', from ?? task, '--instance', instance],
    ...(data === undefined ? [] : ['--data', data]),
    ...(Object.keys(settings).length === 0 ? [] : ['--settings', JSON.stringify(settings)]),
  ]
  return `${commandName()} ${typedWords(words)}${homeFlag()}`
}

/** @throws Refused `unknown` */
export async function knownEpisode({ store, home }: ShownHome, id: string): Promise<StoredEpisode> {
  try {
    parseEpisodeId(id)
  } catch (cause) {
    throw new Refused('unknown', `"${id}" is no episode`, { cause })
  }
  const episode = await store.episodes.get(id as EpisodeId)
  if (episode === undefined) throw new Refused('unknown', `${home.dir} has no episode ${id}`)
  return episode
}

interface Timed {
  readonly took?: TurnTime
}

function timeOf(row: Parameters<typeof turnTimeOf>[0]): Timed {
  const took = turnTimeOf(row)
  return took === undefined ? {} : { took }
}

/** Answers of models by turn, each with the faults before it. */
async function answersOf(
  { answers: stored }: Pick<ShownHome['store'], 'answers'>,
  episode: EpisodeId,
): Promise<ReadonlyMap<number, readonly ShownAnswer[]>> {
  const faults = await stored.faults(episode)
  const shown = (await stored.list(episode)).map((answer) => {
    const { turn, role, number, source, model, messages, text, seconds } = answer
    const before = faults.filter((at) => at.turn === turn && at.role === role && at.number === number)
    const tokens = (answer.promptTokens ?? 0) + (answer.completionTokens ?? 0)
    const said = { role, source, model, messages, text, seconds, tokens }
    return { turn, answer: { ...said, faults: before.map(({ reason }) => reason) } }
  })
  const byTurn = Map.groupBy(shown, ({ turn }) => turn)
  return new Map([...byTurn].map(([turn, own]) => [turn, own.map(({ answer }) => answer)]))
}

function shownObservation(
  observation: StoredObservation & Timed & { readonly answers: readonly ShownAnswer[] | undefined },
): Observation {
  const { messages, reward, done, info, tools, took, answers } = observation
  return {
    messages,
    reward,
    done,
    info,
    ...(tools === undefined ? {} : { tools }),
    ...(answers === undefined ? {} : { answers }),
    ...(took === undefined ? {} : { took }),
  }
}

function shownActions(
  of: {
    readonly actions: readonly (StoredAction & Timed)[]
    readonly observations: readonly StoredObservation[]
    readonly stale: readonly (boolean | null)[]
  },
  tokenizer: Tokenizer | undefined,
): readonly TrajectoryAction[] {
  const textsOf = textReader(tokenizer, of.actions)
  let at = 0
  return of.actions.map((action, turn) => {
    const { prompt, tokens, logprobs, message, problems, finish, version, spans, took, asked } = action
    const begin = at
    at += prompt.length + tokens.length
    return {
      message,
      problems: problems.map(problemWords),
      invalid: of.observations[turn + 1]?.info.invalid === true,
      finish,
      version,
      ...(spans === undefined ? {} : { spans }),
      stale: of.stale[turn] ?? null,
      ...(took === undefined ? {} : { took }),
      ...(asked === undefined
        ? {}
        : { asked: { branch: asked.branch, follows: asked.follows, form: asked.form } }),
      begin,
      prompt: { ids: [...prompt], texts: textsOf(prompt) },
      sampled: { ids: [...tokens], texts: textsOf(tokens), logprobs: [...logprobs] },
    }
  })
}

/** Texts of tokens that come in the order of the episode: a character that several spell is placed at the last of them. */
function textReader(
  tokenizer: Tokenizer | undefined,
  actions: readonly StoredAction[],
): (tokens: Int32Array) => Tokens['texts'] {
  if (tokenizer === undefined) return () => []
  const decoder = tokenizer.streamDecoder()
  let left = actions.reduce((sum, { prompt, tokens }) => sum + prompt.length + tokens.length, 0)
  return (tokens) =>
    Array.from(tokens, (token) => {
      left -= 1
      const text = decoder.push(token)
      return left === 0 ? text + decoder.end() : text
    })
}

function problemWords(problem: unknown): string {
  if (typeof problem !== 'object' || problem === null) return String(problem)
  const { sentence, kind } = problem as { readonly sentence?: unknown; readonly kind?: unknown }
  return String(sentence ?? kind ?? JSON.stringify(problem))
}

function staleOf(
  { config }: ShownRun,
  episode: StoredEpisode,
  { actions, group }: { readonly actions: readonly StoredAction[]; readonly group: StoredGroup | undefined },
): readonly (boolean | null)[] {
  if (group === undefined || !isSealed(episode)) return actions.map(() => null)
  const turns = actions.map(({ version }) => ({ version, begin: 0, end: 0, paid: 0 }))
  return staleTurns({ episode, turns }, group.version, config)
}

/** The episode's learning signal in its update; empty when the update learnt nothing from it. */
async function lessonOf(
  learntGroups: LearntGroups,
  of: {
    readonly episode: StoredEpisode
    readonly step: number
    readonly actions: readonly StoredAction[]
    readonly branches: LearntBranches
  },
): Promise<Pick<TrajectoryAnswer, 'learnt' | 'notKept'>> {
  const { episode, step, actions, branches } = of
  const update = await learntGroups.update(episode.run, step)
  if (update?.isKept === false) return { notKept: step }
  const learnt = update?.episodes.get(episode.id)
  if (update === undefined || learnt === undefined) return {}
  const { file, begin, advantage, advantages, weight, imitation, figures } = learnt
  const { places } = sequencesOf(actions, branches)
  const isBranched = actions.some(({ asked }) => asked !== undefined)
  const isOne = advantages.every((each) => each === advantages[0])
  const lesson: TrajectoryLearnt = {
    update: step,
    version: update.version,
    advantage,
    ...(isOne ? {} : { turns: advantages }),
    ...(weight === 1 ? {} : { weight }),
    ...(imitation === 0 ? {} : { imitation }),
    batch: { file, begin },
    ...(isBranched ? { places: places.map((place) => place?.begin ?? null) } : {}),
    ...(figures === undefined ? {} : { found: foundTokens(figures, places) }),
  }
  return { learnt: lesson }
}

/** The update's figures for the sampled tokens of each turn. */
function foundTokens(
  { logRatios, entropies }: TokenFigures,
  places: readonly TurnPlace[],
): readonly FoundTokens[] {
  return places.map((place) => {
    const { begin, end } = place ?? { begin: 0, end: 0 }
    return {
      ratios: Array.from(logRatios.subarray(begin, end), Math.exp),
      entropies: [...entropies.subarray(begin, end)],
    }
  })
}

function branchingOf({ config }: ShownRun, episode: StoredEpisode): TrajectoryAnswer['branching'] {
  const no = (because: string) => ({ isPossible: false, because })
  if (!isSealed(episode)) return no('it has not ended yet')
  if (episode.released !== undefined) return no('its turns were removed by retention')
  const entry = config.tasks.find(({ task }) => task === episode.task)
  if (entry?.agent !== undefined) return no("an agent's own program plays it, from its beginning")
  // A custom task is asked when it is branched: here no code of the user runs.
  if (entry?.from !== undefined) return { isPossible: true }
  try {
    const { replayable, replayableBecause } = findEnvironment(episode.task)
    return replayable ? { isPossible: true } : no(replayableBecause)
  } catch (error) {
    if (error instanceof UnknownTask) return { isPossible: true }
    throw error
  }
}

/** The damage that an episode's seal shows. */
async function damageOf({ store }: ShownHome, episode: StoredEpisode): Promise<string | undefined> {
  if (!isSealed(episode) || episode.released !== undefined) return undefined
  try {
    await store.episodes.trajectory(episode.id)
    return undefined
  } catch (error) {
    if (error instanceof StorageFault && error.kind === 'corrupt') return error.message
    throw error
  }
}

/** @param asked what was asked for from the page, and is not over @throws Refused `unknown` */
export async function branchesAnswer(
  shown: ShownHome,
  id: string,
  asked: BranchesAnswer['asked'],
): Promise<BranchesAnswer> {
  await knownEpisode(shown, id)
  await shown.index.refresh()
  const rows = shown.index.branchesOf(id)
  const branches = [...Map.groupBy(rows, ({ parent }) => parent)].flatMap(([branch, own]): BranchRow[] => {
    const place = branchPlace(branch, id)
    if (place === undefined) return []
    const samples = own
      .toSorted((a, b) => a.sample - b.sample || a.attempt - b.attempt)
      .map(({ number: _, ...row }) => ({ ...row, update: null }))
    return [{ branch, ...place, samples }]
  })
  return { branches: branches.sort((a, b) => a.turn - b.turn || a.version - b.version), asked }
}
