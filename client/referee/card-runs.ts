/**
 * Runs of a result card, as reports and claims read them.
 *
 * Invariants
 * - A figure is computed from the episodes of its evaluation, never taken from the card's own.
 */
import { runId } from '../../identity/identity.ts'
import { statedMeasure } from '../../learning/evaluation/measure.ts'
import { isSuccess } from '../../learning/evaluation/reward.ts'
import type { MeasuredFigure, MeasuredRun, RunCost } from '../experiment/measured-runs.ts'
import { type CardEvaluation, CardFault, type CardRun, type ResultCard } from './result-card.ts'

/** An episode of a card. */
export interface CardEpisode {
  readonly instance: string
  readonly outcome: CardEvaluation['episodes']['outcomes'][number]
  readonly reward: number
  readonly tokens: number
  /** Places of its actions, or `-`. */
  readonly words: readonly string[]
}

/** Parts of an episode that a card lacks. */
export interface Replayed {
  readonly metrics?: Readonly<Record<string, number>>
  readonly kind?: string
}

/** The episodes of an evaluation. @throws CardFault `bad_card` columns that do not fit */
export function episodesOf(
  card: ResultCard,
  { suite, version, episodes }: CardEvaluation,
): readonly CardEpisode[] {
  const names = card.panels.find((panel) => panel.suite === suite)?.instances ?? []
  const { instances, outcomes, rewards, tokens, actions } = episodes
  return instances.map((place, at) => {
    const [instance, outcome, reward, spent, said] = [
      names[place],
      outcomes[at],
      rewards[at],
      tokens[at],
      actions[at],
    ]
    if (
      instance === undefined ||
      outcome === undefined ||
      reward === undefined ||
      spent === undefined ||
      said === undefined
    )
      throw new CardFault(
        'bad_card',
        `the card lacks a part of episode ${at + 1} of version ${version} on ${suite}`,
      )
    return { instance, outcome, reward, tokens: spent, words: said.split(' ').filter((word) => word !== '') }
  })
}

/** The rules by which episodes of a run are rewarded on a suite. @throws CardFault `bad_card` */
export function rulesOf(card: ResultCard, { arm }: Pick<CardRun, 'arm'>, suite: string) {
  const task = card.panels.find((panel) => panel.suite === suite)?.task ?? ''
  const rules = card.arms.find((each) => each.arm === arm)?.rewards[task]
  if (rules === undefined)
    throw new CardFault('bad_card', `arm ${arm} has no rules for the rewards of ${suite}`)
  return { ...rules, task }
}

/** The figure of an evaluation. @param replayed by episode */
export function cardFigure(
  card: ResultCard,
  run: Pick<CardRun, 'arm'>,
  evaluation: CardEvaluation,
  replayed: readonly Replayed[] = [],
): MeasuredFigure {
  const { suite, version, planned, spent, metric } = evaluation
  const { task, atLeast } = rulesOf(card, run, suite)
  const measure = statedMeasure(card.statement.measure ?? 'success', metric)
  const found = new Map<string, number[]>()
  const kinds = new Map<string, string>()
  const episodes = episodesOf(card, evaluation)
  let successes = 0
  for (const [at, { instance, reward, tokens, words }] of episodes.entries()) {
    const { metrics, kind } = replayed[at] ?? {}
    const success = isSuccess(reward, { atLeast })
    if (success) successes += 1
    const key = `${task} ${instance}`
    if (kind !== undefined) kinds.set(key, kind)
    const value = measure.of({
      success,
      reward,
      turns: words.length,
      actionTokens: tokens,
      ...(metrics && { metrics }),
    })
    if (value !== undefined) found.set(key, [...(found.get(key) ?? []), value])
  }
  const shares = new Map([...found].map(([key, values]) => [key, mean(values)]))
  return {
    ...{ suite, version, planned, n: episodes.length },
    success: successes / episodes.length,
    value: mean([...found.values()].flat()),
    ...(spent && { spent }),
    ...(metric && { metric }),
    shares: async () => shares,
    kinds: async () => kinds,
  }
}

/** The runs of a card. @param figureOf the figure of an evaluation */
export function runsOfCard(
  card: ResultCard,
  figureOf = (run: CardRun, evaluation: CardEvaluation) => cardFigure(card, run, evaluation),
): readonly MeasuredRun[] {
  return card.runs.map((each) => ({
    ...{ run: runId(each.run), arm: each.arm, seed: each.seed, status: 'done', experts: [] },
    ...(each.cost && { cost: costOf(each.cost) }),
    figures: each.evaluations.map((evaluation) => figureOf(each, evaluation)),
  }))
}

function costOf({ cpuSeconds, ...cost }: NonNullable<CardRun['cost']>): RunCost {
  return { ...cost, ...(cpuSeconds === undefined ? {} : { cpuSeconds }) }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
