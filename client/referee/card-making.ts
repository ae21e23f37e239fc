/**
 * Makes the card of an experiment from the store that has its runs.
 *
 * Invariants
 * - [CARD-1] Beside the figures of an arm a card says how many episodes were planned, played and lost, by kind, and how many training
 *   left out, cut off, gave up at a group's timeout and played again.
 * - Runs of reports that were written elsewhere have cards of their own: this one has those of the store.
 */
import { createHash } from 'node:crypto'
import { basename, isAbsolute, relative } from 'node:path'
import type { ExperimentArm, ExperimentStatement } from '../../config/files/experiment.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import type { EpisodeId, RunId } from '../../identity/identity.ts'
import { isRewarded, type Outcome, outcomes } from '../../learning/evaluation/outcome.ts'
import { rewardRules } from '../../learning/evaluation/reward.ts'
import { spoken } from '../../messages/action-summary.ts'
import type { Home } from '../../storage/disk/home.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { hasStore } from '../../storage/place.ts'
import type { StoredEvaluation } from '../../storage/records/evaluations.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { isSealed, type SealedEpisode } from '../../storage/trajectories/episode.ts'
import type { ExperimentReport, ReportedRun } from '../experiment/experiment-report.ts'
import { storedExperiment } from '../experiment/experiments.ts'
import { writeFiles } from '../experiment/written-reports.ts'
import type { CardArm, CardEvaluation, CardPanel, CardRun, ResultCard } from './result-card.ts'

/**
 * Writes NAME.card.json into a folder, beside the files of the report.
 * @param perdure version of Perdure, and its commit where it is known
 * @returns its path; undefined where the home does not have the experiment
 */
export async function writeCard(
  home: Home,
  report: ExperimentReport,
  { folder, perdure }: { readonly folder: string; readonly perdure: string },
): Promise<string | undefined> {
  if (!(await hasStore(home.storeFile))) return undefined
  await using store = await openStore(home.storeFile, { create: false, access: 'read' })
  const known = await storedExperiment(store, report.experiment)
  if (known === undefined) return undefined
  const card = await cardOf(store, known.statement, report, { perdure, folder: process.cwd() })
  const [path] = writeFiles(folder, [[`${report.experiment}.card.json`, `${JSON.stringify(card)}\n`]])
  return path
}

/** Places of texts by the order in which they are first asked for. */
class Places {
  readonly #places = new Map<string, number>()

  of(text: string): number {
    const place = this.#places.get(text) ?? this.#places.size
    this.#places.set(text, place)
    return place
  }

  get texts(): string[] {
    return [...this.#places.keys()]
  }
}

/** Instances of a suite, by the order in which episodes name them; all arms have the same. */
type Instances = ReadonlyMap<string, Places>

/**
 * The card of an experiment.
 * @param perdure version of Perdure, and its commit where it is known
 * @param folder that paths of environments are written from
 */
export async function cardOf(
  store: Store,
  statement: ExperimentStatement,
  report: ExperimentReport,
  { perdure, folder }: { readonly perdure: string; readonly folder: string },
): Promise<ResultCard> {
  const instances = new Map(statement.suites.map((suite) => [suite, new Places()]))
  const actions = new Places()
  const runs: CardRun[] = []
  for (const run of report.runs.filter(({ status }) => status === 'done'))
    runs.push(await cardRun(store, run, { instances, actions }))
  const { arms, hypotheses, ...stated } = statement
  const [first] = arms
  return {
    card: 1,
    perdure,
    statement: { ...stated, hypotheses },
    began: report.began,
    machine: report.machine,
    panels: first === undefined ? [] : panelsOf(first.config, instances, folder),
    arms: await Promise.all(
      statement.arms.map((arm) => {
        const { chosen } = report.arms.find((each) => each.arm === arm.arm) ?? {}
        const point = statement.arms.find((each) => each.arm === chosen)
        const of = point === undefined ? arm : { ...arm, set: point.set, config: point.config, chosen }
        return cardArm(store, of, runs)
      }),
    ),
    runs,
    actions: actions.texts,
    claims: report.hypotheses,
  }
}

function panelsOf(config: RunConfig, instances: Instances, folder: string): CardPanel[] {
  return config.evaluation.suites.flatMap(({ name, task, split }) => {
    const names = instances.get(name)?.texts
    if (names === undefined) return []
    const entry = config.tasks.find((each) => each.task === task)
    return [
      {
        suite: name,
        task,
        ...(entry?.from === undefined ? {} : { from: portable(entry.from, folder) }),
        split,
        settings: entry?.settings ?? {},
        instances: names,
        sha256: sha256(names.join('\n')),
      },
    ]
  })
}

/** A path from the folder, or the last part of one outside it. */
function portable(path: string, folder: string): string {
  if (!isAbsolute(path)) return path
  const from = relative(folder, path)
  return from.startsWith('..') ? basename(path) : `./${from}`
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

async function cardRun(
  store: Store,
  { run, arm, seed, machine, cost, curve }: ReportedRun,
  places: { readonly instances: Instances; readonly actions: Places },
): Promise<CardRun> {
  const stored = await store.evaluations.list(run)
  const evaluations: CardEvaluation[] = []
  for (const { measured: _, ...figure } of curve) {
    const found = stored.find(({ suite, version }) => suite === figure.suite && version === figure.version)
    const own = places.instances.get(figure.suite)
    if (found?.result === undefined || own === undefined) continue
    evaluations.push({
      ...figure,
      lost: { ...found.result.lost },
      episodes: await playedEpisodes(store, found, { instances: own, actions: places.actions }),
    })
  }
  return { run, arm, seed, ...(machine && { machine }), ...(cost && { cost: { ...cost } }), evaluations }
}

async function playedEpisodes(
  store: Store,
  { id }: StoredEvaluation,
  { instances, actions }: { readonly instances: Places; readonly actions: Places },
): Promise<CardEvaluation['episodes']> {
  const played = (await store.episodes.list(id)).filter(counts)
  const said: string[] = []
  for (const each of played) said.push((await actionsOf(store, each, actions)).join(' '))
  return {
    instances: played.map(({ instance }) => instances.of(instance)),
    outcomes: played.map(({ seal }) => seal.outcome),
    rewards: played.map(({ seal }) => seal.reward ?? 0),
    tokens: played.map(({ seal }) => seal.actionTokens),
    actions: said,
  }
}

/** Places of the actions that the environment was given, or `-` for one that could not be read. */
async function actionsOf(
  store: Store,
  { id, seal }: { readonly id: EpisodeId; readonly seal: { readonly turns: number } },
  actions: Places,
): Promise<readonly (string | number)[]> {
  const turns = Array.from({ length: seal.turns }, (_, turn) => store.actions.get(id, turn))
  return (await Promise.all(turns)).map((action) =>
    action === undefined || action.problems.length > 0
      ? '-'
      : actions.of(JSON.stringify(spoken(action.message))),
  )
}

function counts(episode: Parameters<typeof isSealed>[0]): episode is SealedEpisode {
  return isSealed(episode) && isRewarded(episode.seal.outcome)
}

async function cardArm(
  store: Store,
  { arm, set, config, pointOf, chosen }: ExperimentArm & { readonly chosen?: string | undefined },
  runs: readonly CardRun[],
): Promise<CardArm> {
  const own = runs.filter((each) => each.arm === arm)
  const evaluations = own.flatMap((each) => each.evaluations)
  const trained = await Promise.all(own.map(({ run }) => trainingOf(store, run as RunId)))
  const sum = (of: (each: (typeof trained)[number]) => number) =>
    trained.reduce((total, each) => total + of(each), 0)
  return {
    arm,
    set: { ...set },
    ...(pointOf && { pointOf }),
    ...(chosen && { chosen }),
    configuration: sha256(JSON.stringify(config)),
    rewards: Object.fromEntries(config.tasks.map(({ task }) => [task, { ...rewardRules(config, task) }])),
    evaluation: {
      planned: evaluations.reduce((total, { planned }) => total + planned, 0),
      played: evaluations.reduce((total, { n }) => total + n, 0),
      lost: together(evaluations.map((each) => each.lost)),
    },
    training: {
      played: sum(({ played }) => played),
      lost: together(trained.map((each) => each.lost)),
      skipped: sum(({ skipped }) => skipped),
      cutOff: sum(({ cutOff }) => cutOff),
      timedOut: sum(({ timedOut }) => timedOut),
      retried: sum(({ retried }) => retried),
    },
  }
}

type Lost = CardEvaluation['lost']

function together(all: readonly Lost[]): Lost {
  const found: Partial<Record<Outcome, number>> = {}
  for (const [outcome, number] of all.flatMap((each) => Object.entries(each) as [Outcome, number][]))
    found[outcome] = (found[outcome] ?? 0) + number
  return found
}

async function trainingOf(store: Store, run: RunId) {
  const found = await store.episodes.inTraining(run)
  const of = (outcome: Outcome) => found.filter((each) => each.outcome === outcome)
  const number = (all: typeof found) => all.reduce((sum, { episodes }) => sum + episodes, 0)
  const updates = (await store.metrics.list(run)).filter(isUpdateMetrics)
  const lost = outcomes
    .filter((outcome) => !isRewarded(outcome))
    .flatMap((outcome) => {
      const episodes = number(of(outcome))
      return episodes === 0 ? [] : [[outcome, episodes] as const]
    })
  return {
    played: number(found),
    lost: Object.fromEntries(lost) as Lost,
    skipped: updates.reduce((sum, { skipped }) => sum + (skipped?.episodes ?? 0), 0),
    cutOff: number([...of('turn_limit'), ...of('context_limit')]),
    timedOut: found.reduce((sum, { timedOut }) => sum + timedOut, 0),
    retried: found.reduce((sum, { retried }) => sum + retried, 0),
  }
}
