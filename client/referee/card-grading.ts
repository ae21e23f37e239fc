/**
 * Grades a result card again: every episode is played again from its actions, and every figure and claim is computed from what that
 * gives.
 *
 * Invariants
 * - [GRADING-1] A card is refused at the first thing that differs, which is named: an instance, an outcome, a figure, a claim.
 * - Tokens and losses to the infrastructure are taken from the card: nothing in a card could show them.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Task } from '../../envs/contract/environment.ts'
import { finalReward } from '../../learning/evaluation/reward.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { claimsOf } from '../experiment/experiment-report.ts'
import type { MeasuredFigure } from '../experiment/measured-runs.ts'
import { choicesOf } from '../experiment/tuning.ts'
import { sha256 } from './card-making.ts'
import { type CardEpisode, cardFigure, episodesOf, type Replayed, rulesOf, runsOfCard } from './card-runs.ts'
import {
  type CardEvaluation,
  CardFault,
  type CardPanel,
  type CardRun,
  type ResultCard,
} from './result-card.ts'

export interface Grading {
  readonly episodes: number
  readonly figures: number
  readonly claims: number
}

/**
 * @param open the task of a panel
 * @param onProgress with the number of episodes so far
 * @throws CardFault
 */
export async function gradeCard(
  card: ResultCard,
  open: (panel: CardPanel) => Promise<Task>,
  onProgress: (episodes: number) => void,
): Promise<Grading> {
  let episodes = 0
  const graded = new Map<CardEvaluation, MeasuredFigure>()
  for (const panel of card.panels) {
    checkNames(panel)
    const task = await open(panel)
    try {
      for (const run of card.runs)
        for (const evaluation of run.evaluations.filter(({ suite }) => suite === panel.suite)) {
          graded.set(evaluation, await gradedFigure(task, { card, run, evaluation }))
          episodes += evaluation.episodes.instances.length
          onProgress(episodes)
        }
    } finally {
      await task.close()
    }
  }
  await checkClaims(card, graded)
  return { episodes, figures: graded.size, claims: card.claims.length }
}

function checkNames({ suite, instances, sha256: stated }: CardPanel): void {
  const found = sha256(instances.join('\n'))
  if (found !== stated)
    throw changed(`the instances of panel ${suite} have the SHA-256 ${found}, and the card says ${stated}`)
}

function changed(what: string): CardFault {
  return new CardFault('changed_card', `the card is refused: ${what}`)
}

interface Graded {
  readonly card: ResultCard
  readonly run: CardRun
  readonly evaluation: CardEvaluation
}

/** Plays all episodes of an evaluation again. */
async function gradedFigure(task: Task, { card, run, evaluation }: Graded): Promise<MeasuredFigure> {
  const { suite, version } = evaluation
  const rules = rulesOf(card, run, suite)
  const replayed: Replayed[] = []
  for (const [at, episode] of episodesOf(card, evaluation).entries()) {
    const { instance, outcome } = episode
    const subject = `${run.run} v${version} on ${suite}, episode ${at + 1} (instance ${instance})`
    const played = await playAgain(task, episode, card.actions)
    const ending = played.isDone ? (played.outcome ?? 'completed') : outcome
    if (ending !== outcome || (!played.isDone && outcome === 'completed'))
      throw changed(
        `${subject} ended as ${outcome}, and its actions played again ${played.isDone ? `end as ${ending}` : 'do not end it'}`,
      )
    const reward = finalReward(outcome, played.paid, rules)
    if (reward !== episode.reward)
      throw changed(`${subject} earned ${episode.reward}, and its actions played again earn ${reward}`)
    replayed.push(played)
  }
  const figure = cardFigure(card, run, evaluation, replayed)
  for (const name of ['n', 'success', 'value'] as const)
    if (!isNear(figure[name], evaluation[name]))
      throw changed(
        `${run.run} v${version} on ${suite} has the ${name} ${evaluation[name]}, and its episodes give ${figure[name]}`,
      )
  return figure
}

/** Sums of the same numbers may be taken in another order. */
function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(other))
}

/** Pay and ending of an episode that is played again. */
async function playAgain(task: Task, { instance, words }: CardEpisode, actions: readonly string[]) {
  const environment = await task.create()
  try {
    const { info, metrics: begun = {} } = await environment.reset(instance)
    const kind = typeof info.kind === 'string' ? { kind: info.kind } : {}
    let [metrics, paid] = [begun, 0]
    for (const word of words) {
      if (word === '-') continue
      const text = actions[Number(word)]
      if (text === undefined)
        throw changed(`an episode of instance ${instance} names the action ${word}, which the card lacks`)
      const step = await environment.step(JSON.parse(text) as AssistantMessage)
      paid += step.reward
      metrics = step.metrics ?? metrics
      if (step.done) return { ...kind, paid, metrics, isDone: true, outcome: step.outcome }
    }
    return { ...kind, paid, metrics, isDone: false, outcome: undefined }
  } finally {
    await environment.close()
  }
}

/** Judges the claims by the graded episodes. */
async function checkClaims(
  card: ResultCard,
  graded: ReadonlyMap<CardEvaluation, MeasuredFigure>,
): Promise<void> {
  const runs = runsOfCard(
    card,
    (run, evaluation) => graded.get(evaluation) ?? cardFigure(card, run, evaluation),
  )
  const suites = card.panels.map(({ suite, task }) => ({ name: suite, task }))
  const arms = card.arms.map(({ arm }) => ({ arm, config: { evaluation: { suites } } }))
  const choices = choicesOf({ ...card.statement, arms: card.arms }, runs)
  for (const { arm, chosen } of card.arms)
    if (choices[arm] !== chosen)
      throw changed(`arm ${arm} is the point ${choices[arm]} by its episodes, and the card says ${chosen}`)
  const found = await claimsOf({ ...card.statement, arms }, runs)
  for (const [at, claim] of card.claims.entries()) {
    const other: unknown = JSON.parse(JSON.stringify(found[at] ?? null))
    if (!isDeepStrictEqual(other, claim))
      throw changed(
        `the claim ${claim.name} is not as its episodes give it: ${JSON.stringify(other)}, and the card says ${JSON.stringify(claim)}`,
      )
  }
}
