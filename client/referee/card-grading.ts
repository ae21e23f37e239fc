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
import { runId } from '../../identity/identity.ts'
import { statedMeasure } from '../../learning/evaluation/measure.ts'
import { isRewarded } from '../../learning/evaluation/outcome.ts'
import { finalReward, isSuccess } from '../../learning/evaluation/reward.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { claimsOf } from '../experiment/experiment-report.ts'
import type { MeasuredFigure, MeasuredRun } from '../experiment/measured-runs.ts'
import { sha256 } from './card-making.ts'
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
          graded.set(evaluation, await gradedFigure(task, { card, panel, run, evaluation }))
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
  readonly panel: CardPanel
  readonly run: CardRun
  readonly evaluation: CardEvaluation
}

/** Plays all episodes of an evaluation again. */
async function gradedFigure(task: Task, graded: Graded): Promise<MeasuredFigure> {
  const { card, panel, run, evaluation } = graded
  const { episodes, suite, version } = evaluation
  const rules = card.arms.find(({ arm }) => arm === run.arm)?.rewards[panel.task]
  if (rules === undefined) throw changed(`arm ${run.arm} has no rules for the rewards of ${panel.task}`)
  const measure = statedMeasure(card.statement.measure ?? 'success', evaluation.metric)
  const found = new Map<string, number[]>()
  const kinds = new Map<string, string>()
  let successes = 0
  for (const [at, place] of episodes.instances.entries()) {
    const instance = panel.instances[place]
    const outcome = episodes.outcomes[at]
    const subject = `${run.run} v${version} on ${suite}, episode ${at + 1} (instance ${instance})`
    if (instance === undefined || outcome === undefined) throw changed(`${subject} is not of its panel`)
    const words = (episodes.actions[at] ?? '').split(' ').filter((word) => word !== '')
    const played = await playAgain(task, instance, words, card.actions)
    const ending = played.isDone ? (played.outcome ?? 'completed') : outcome
    if (ending !== outcome || (!played.isDone && outcome === 'completed'))
      throw changed(
        `${subject} ended as ${outcome}, and its actions played again ${played.isDone ? `end as ${ending}` : 'do not end it'}`,
      )
    const reward = isRewarded(outcome) ? finalReward(outcome, played.paid, rules) : null
    if (reward === null || reward !== episodes.rewards[at])
      throw changed(`${subject} earned ${episodes.rewards[at]}, and its actions played again earn ${reward}`)
    const success = isSuccess(reward, rules)
    if (success) successes += 1
    const [turns, actionTokens] = [words.length, episodes.tokens[at] ?? 0]
    const value = measure.of({ success, reward, turns, actionTokens, metrics: played.metrics })
    const key = `${panel.task} ${instance}`
    if (typeof played.kind === 'string') kinds.set(key, played.kind)
    if (value !== undefined) found.set(key, [...(found.get(key) ?? []), value])
  }
  const n = episodes.instances.length
  const all = [...found.values()].flat()
  const figure = { n, success: successes / n, value: mean(all) }
  for (const [name, value] of Object.entries(figure) as [keyof typeof figure, number][])
    if (!isNear(value, evaluation[name]))
      throw changed(
        `${run.run} v${version} on ${suite} has the ${name} ${evaluation[name]}, and its episodes give ${value}`,
      )
  const shares = new Map([...found].map(([key, values]) => [key, mean(values)]))
  const { planned, spent, metric } = evaluation
  const beside = { ...(spent && { spent }), ...(metric && { metric }) }
  return {
    suite,
    version,
    ...figure,
    planned,
    ...beside,
    shares: async () => shares,
    kinds: async () => kinds,
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Sums of the same numbers may be taken in another order. */
function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(other))
}

/** Pay and ending of an episode that is played again. @param words places of actions */
async function playAgain(task: Task, instance: string, words: readonly string[], actions: readonly string[]) {
  const environment = await task.create()
  try {
    const { info, metrics: begun = {} } = await environment.reset(instance)
    const { kind } = info
    let [metrics, paid] = [begun, 0]
    for (const word of words) {
      if (word === '-') continue
      const text = actions[Number(word)]
      if (text === undefined)
        throw changed(`an episode of instance ${instance} names the action ${word}, which the card lacks`)
      const step = await environment.step(JSON.parse(text) as AssistantMessage)
      paid += step.reward
      metrics = step.metrics ?? metrics
      if (step.done) return { paid, metrics, kind, isDone: true, outcome: step.outcome }
    }
    return { paid, metrics, kind, isDone: false, outcome: undefined }
  } finally {
    await environment.close()
  }
}

/** Judges the claims by the graded episodes. */
async function checkClaims(
  card: ResultCard,
  graded: ReadonlyMap<CardEvaluation, MeasuredFigure>,
): Promise<void> {
  const runs = card.runs.map(
    ({ run, arm, seed, evaluations }): MeasuredRun => ({
      ...{ run: runId(run), arm, seed, status: 'done', experts: [] },
      figures: evaluations.flatMap((each) => graded.get(each) ?? []),
    }),
  )
  const suites = card.panels.map(({ suite, task }) => ({ name: suite, task }))
  const arms = card.arms.map(({ arm }) => ({ arm, config: { evaluation: { suites } } }))
  const found = await claimsOf({ ...card.statement, arms }, runs)
  for (const [at, claim] of card.claims.entries()) {
    const other: unknown = JSON.parse(JSON.stringify(found[at] ?? null))
    if (!isDeepStrictEqual(other, claim))
      throw changed(
        `the claim ${claim.name} is not as its episodes give it: ${JSON.stringify(other)}, and the card says ${JSON.stringify(claim)}`,
      )
  }
}
