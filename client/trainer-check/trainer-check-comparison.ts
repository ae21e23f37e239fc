/**
 * Compares the output of a checked trainer with the embedded one's for the same update.
 *
 * Invariants
 * - Differences are relative, and their limits are those that docs/trainers.md names.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { trainerRows } from '../../learning/run/trainer-figures.ts'
import { type CheckpointContent, readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { readWithMoments } from '../../policy/checkpoints/restoring.ts'
import type { Trainer, UpdateRequest, UpdateStatistics } from '../../policy/trainer/trainer.ts'
import type { CheckedCase, TrainerFixture } from './trainer-check-cases.ts'

/** Largest relative differences that rounding explains. */
const limits = { loss: 1e-4, gradient: 1e-4, figures: 0.01, step: 1e-3 } as const

/** A checked trainer broke its contract; the message says how. */
export class BrokenPromise extends Error {
  override readonly name = 'BrokenPromise'
}

/**
 * Makes an update by both trainers and compares what they wrote.
 * @returns the differences, in words
 * @throws BrokenPromise
 */
export async function agreement(
  { name, changes }: CheckedCase,
  { request, folder }: TrainerFixture,
  { trainer, embedded }: { readonly trainer: Trainer; readonly embedded: Trainer },
): Promise<string> {
  const asked: UpdateRequest = { ...request, ...changes(request) }
  const [theirs, ours] = ['theirs', 'ours'].map((who) =>
    join(folder, `${name.replaceAll(/\W+/g, '-')}-${who}`),
  ) as [string, string]
  const found = await trainer.update({ ...asked, toCheckpointDir: theirs })
  const expected = await embedded.update({ ...asked, toCheckpointDir: ours })
  expectFigures(found, expected)
  const before = await readCheckpoint(asked.fromCheckpointDir)
  const [mine, other] = await Promise.all([readWithMoments(ours), readWithMoments(theirs)])
  // A trainer that keeps its moments in files of its own format shows the gradient only in its step.
  const isShown = other.optimizer !== undefined
  const differences = {
    // After one step from zero moments, the first moments are the gradient times a constant.
    ...(isShown ? { gradient: relative(mine.optimizer?.first, other.optimizer?.first) } : {}),
    step: relative(minus(mine.weights, before.weights), minus(other.weights, before.weights)),
  }
  for (const [what, difference] of Object.entries(differences)) {
    const limit = limits[what as 'gradient' | 'step']
    if (!(difference <= limit))
      throw new BrokenPromise(
        `the ${what} differs by ${difference.toExponential(1)}, relative; at most ${limit} is allowed`,
      )
  }
  if ((isShown && mine.optimizer?.step !== other.optimizer?.step) || mine.state.step !== other.state.step)
    throw new BrokenPromise(
      `${other.state.step} steps and ${other.optimizer?.step} behind the moments, expected ${mine.state.step} and ${mine.optimizer?.step}`,
    )
  const [head, otherHead] = [mine, other].map(headOf) as [Arrays, Arrays]
  const ofHead = relative(head, otherHead)
  if ((head.get('')?.length ?? 0) > 0 && !(ofHead <= limits.gradient))
    throw new BrokenPromise(
      `facts.valueHead differs by ${ofHead.toExponential(1)}, relative; at most ${limits.gradient} is allowed`,
    )
  const gradient =
    differences.gradient?.toExponential(1) ?? 'not compared, its moments are in files of its own'
  return `gradient ${gradient}, step ${differences.step.toExponential(1)}`
}

/** @throws BrokenPromise naming the figure */
function expectFigures(found: UpdateStatistics, expected: UpdateStatistics): void {
  for (const [name] of trainerRows) {
    const value = found[name]
    const limit = name === 'loss' ? limits.loss : limits.figures
    if (value !== undefined) expectNear(name, value, expected[name] ?? 0, limit)
  }
  for (const name of ['actionTokens', 'tokens'] as const) expectNear(name, found[name], expected[name])
  // Not every trainer measures origins.
  if ((found.origins ?? []).length === 0) return
  for (const { version, stale, tokens, divergence } of expected.origins ?? []) {
    const other = found.origins?.find((origin) => origin.version === version && origin.stale === stale)
    const place = `of the origin {version ${version}, stale ${stale}}`
    expectNear(`tokens ${place}`, other?.tokens ?? 0, tokens)
    expectNear(`divergence ${place}`, other?.divergence ?? 0, divergence)
  }
}

/** @throws BrokenPromise */
function expectNear(name: string, found: number, expected: number, limit: number = limits.figures): void {
  // A figure that is nearly 0 is what rounding left of it.
  const difference = Math.abs(found - expected) / Math.max(Math.abs(expected), 1e-3)
  if (!(difference <= limit)) throw new BrokenPromise(`${name} is ${found}, expected ${expected}`)
}

type Arrays = ReadonlyMap<string, Float32Array>

/** The head of learnt values, under an empty name; empty without one. */
function headOf({ state }: Pick<CheckpointContent, 'state'>): Arrays {
  const { valueHead } = state.facts
  return new Map([['', Float32Array.from(Array.isArray(valueHead) ? valueHead.map(Number) : [])]])
}

function minus(weights: Arrays, before: Arrays): Map<string, Float32Array> {
  return new Map(
    [...weights].map(([name, weight]) => [
      name,
      weight.map((value, i) => value - (before.get(name)?.[i] ?? 0)),
    ]),
  )
}

/** ‖a − b‖ / ‖a‖ over all arrays together. */
function relative(a: Arrays | undefined, b: Arrays | undefined): number {
  if (a === undefined || b === undefined) return Number.POSITIVE_INFINITY
  let [difference, size] = [0, 0]
  for (const [name, values] of a)
    for (const [i, value] of values.entries()) {
      difference += (value - (b.get(name)?.[i] ?? Number.NaN)) ** 2
      size += value ** 2
    }
  return Math.sqrt(difference / size)
}

/** @throws BrokenPromise naming the first value that differs */
export function expectValues(found: readonly number[] = [], expected: readonly number[] = []): void {
  if (found.length !== expected.length)
    throw new BrokenPromise(`${found.length} values, expected one for each of ${expected.length} turns`)
  for (const [turn, value] of found.entries())
    expectNear(`the value of turn ${turn}`, value, expected[turn] ?? 0, limits.gradient)
}

/** @throws BrokenPromise naming the file */
export async function expectSameBytes(one: string, other: string): Promise<void> {
  const [names, others] = [(await readdir(one)).sort(), (await readdir(other)).sort()]
  if (names.join() !== others.join())
    throw new BrokenPromise(`the files are ${others.join(', ')}, expected ${names.join(', ')}`)
  for (const name of names) {
    const [bytes, again] = await Promise.all([readFile(join(one, name)), readFile(join(other, name))])
    if (!bytes.equals(again)) throw new BrokenPromise(`${name} has other bytes than the first time`)
  }
}
