/**
 * How far an engine's logprobs are from the trainer's, over whole episodes: what an update at learning rate 0 would see.
 *
 * Invariants
 * - Tokens are compared with the version that their turn was sampled from, by the trainer's own pass over the whole episode.
 */
import { seedOf, uniforms } from '../../identity/identity.ts'
import { createTrainer } from '../trainer/embedded.ts'
import type { Engine } from './engine.ts'

/** The default clip of `learning.clipLow` and `learning.clipHigh`. */
const clip = 0.2
const temperature = 0.8
const [episodes, turns, tokensOfTurn] = [6, 6, 12]

export interface Agreement {
  readonly tokens: number
  readonly mean: number
  readonly largest: number
  /** Share of tokens whose ratio is beyond the clip. */
  readonly beyondClip: number
}

interface Turn {
  readonly version: number
  /** Where its action begins. */
  readonly from: number
  readonly logprobs: Float32Array
}

/** Plays episodes whose turns take the versions in turn, and compares. @param of folders by version, loaded in the engine */
export async function measureAgreement(
  engine: Engine,
  of: ReadonlyMap<number, string>,
  vocabulary: number,
): Promise<Agreement> {
  const played = await Promise.all(
    Array.from({ length: episodes }, (_, number) => play(engine, [...of.keys()], vocabulary, number)),
  )
  const trainer = createTrainer({ threads: 1 })
  try {
    const differences: number[] = []
    for (const [version, checkpointDir] of of)
      for (const { tokens, turns } of played) {
        const own = turns.filter((turn) => turn.version === version)
        const mask = new Uint8Array(tokens.length)
        for (const { from, logprobs } of own) mask.fill(1, from, from + logprobs.length)
        const trained = await trainer.logprobs({
          ...{ checkpointDir, tokens: Int32Array.from(tokens), offsets: Int32Array.of(0, tokens.length) },
          ...{ lossMask: mask, temperature, microBatchTokens: 1024 },
        })
        for (const { from, logprobs } of own)
          for (const [at, logprob] of logprobs.entries())
            differences.push((trained[from + at] ?? Number.NaN) - logprob)
      }
    return summary(differences)
  } finally {
    await trainer.close()
  }
}

/** A line for the table of docs/engines.md. */
export function agreementLine(name: string, { tokens, mean, largest, beyondClip }: Agreement): string {
  return `agreement of ${name} and the trainer: ${tokens} tokens, mean ${mean.toExponential(1)}, largest ${largest.toExponential(1)}, ${100 * beyondClip} % beyond the clip`
}

async function play(engine: Engine, versions: readonly number[], vocabulary: number, number: number) {
  const draw = uniforms(seedOf(5, number))
  const tokens: number[] = []
  const played: Turn[] = []
  for (let turn = 0; turn < turns; turn++) {
    const observed = 10 + Math.floor(draw() * 30)
    for (let at = 0; at < observed; at++) tokens.push(Math.floor(draw() * vocabulary))
    const version = versions[(number + turn) % versions.length] as number
    const sampled = await engine.sample({
      ...{ cacheKey: `${number}`, context: Int32Array.from(tokens), borders: [], version, temperature },
      ...{ maxNewTokens: tokensOfTurn, stopTokens: [7], seed: seedOf(1, number, turn) },
    })
    played.push({ version, from: tokens.length, logprobs: sampled.logprobs })
    tokens.push(...sampled.tokens)
  }
  return { tokens, turns: played }
}

function summary(differences: readonly number[]): Agreement {
  const sizes = differences.map(Math.abs)
  const beyond = differences.filter((each) => Math.abs(Math.exp(each) - 1) > clip)
  return {
    tokens: sizes.length,
    mean: sizes.reduce((sum, each) => sum + each, 0) / sizes.length,
    largest: Math.max(...sizes),
    beyondClip: beyond.length / sizes.length,
  }
}
