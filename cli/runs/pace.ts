/**
 * Pace of a watched run: tokens per second and the time left.
 *
 * Invariants
 * - Figures need enough observations: no rate from one observation, no time left before an update ended. A run's
 *   first update does not predict the others: it waits for all of its groups, beside the first evaluation.
 * - Pure: progress and clock come in as arguments.
 */
import type { RunProgress } from '../../client/session/training-session.ts'

/** Each figure is undefined until enough was observed. */
export interface Pace {
  readonly tokensPerSecond: number | undefined
  readonly secondsLeft: number | undefined
}

interface Sighting {
  readonly at: number
  readonly tokens: number
}

// Long enough to smooth one update's pause in sampling, short enough to follow a change.
const windowSeconds = 30
// Enough updates to even out their lengths.
const windowUpdates = 10

/** Watches one run. */
export class PaceMeter {
  #sightings: Sighting[] = []
  #updates: { at: number; step: number }[] = []

  /** Takes in what the run says at a time in milliseconds, and gives its pace. */
  observe(progress: RunProgress, now: number): Pace {
    this.#sightings.push({ at: now, tokens: progress.tokens })
    this.#sightings = this.#sightings.filter(({ at }) => at >= now - windowSeconds * 1000)
    const { phase, step } = progress
    if (phase === 'training' && step > 0 && this.#updates.at(-1)?.step !== step) {
      this.#updates.push({ at: now, step })
      if (this.#updates.length > windowUpdates + 1) this.#updates.shift()
    }
    return { tokensPerSecond: this.#tokensPerSecond(now), secondsLeft: this.#secondsLeft(progress, now) }
  }

  #tokensPerSecond(now: number): number | undefined {
    const first = this.#sightings[0]
    const last = this.#sightings.at(-1)
    if (first === undefined || last === undefined || now - first.at < 1000) return undefined
    return ((last.tokens - first.tokens) * 1000) / (now - first.at)
  }

  #secondsLeft({ phase, step, updates }: RunProgress, now: number): number | undefined {
    const first = this.#updates[0]
    const last = this.#updates.at(-1)
    if (phase !== 'training' || first === undefined || last === undefined || last.step === first.step)
      return undefined
    const secondsPerUpdate = (last.at - first.at) / 1000 / (last.step - first.step)
    return Math.max(0, (updates - step) * secondsPerUpdate - (now - last.at) / 1000)
  }
}
