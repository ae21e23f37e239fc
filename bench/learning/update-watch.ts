/**
 * Updates that are watched: what each took, read at its end.
 *
 * Invariants
 * - An update is read when its trainer has ended it: wall clock, CPU time of this process and of Temporal's server, and what the
 *   engine has sampled by then.
 */
import { openEngine } from '../../activities/play/engines.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import type { RunId } from '../../identity/identity.ts'
import type { Engine } from '../../policy/engines/engine.ts'
import type { Trainer } from '../../policy/trainer/trainer.ts'
import { type CpuTime, cpuTime, timeBetween, timeTogether } from '../measured/cpu-time.ts'

/** The end of an update. */
interface Mark {
  readonly at: number
  readonly cpu: CpuTime
  readonly sampled: Sampled
}

interface Sampled {
  readonly turns: number
  readonly tokens: number
}

/** The time of a turn of one of the two, over all counted updates. */
export interface Taken {
  readonly updates: number
  readonly seconds: number
  readonly cpu: CpuTime
  readonly sampled: Sampled
}

/** Which updates count: so many, after the first ones. */
export interface Span {
  readonly updates: number
  readonly skip: number
}

/** Engine and trainer that are watched: each end of an update is marked. */
export function watchUpdates(server: () => number | undefined) {
  const marks: Mark[] = []
  const waiting: { readonly updates: number; readonly resolve: () => void }[] = []
  let [turns, tokens] = [0, 0]

  async function mark(): Promise<void> {
    marks.push({ at: performance.now(), cpu: await cpuTime(server()), sampled: { turns, tokens } })
    for (const { updates, resolve } of waiting) if (marks.length >= updates) resolve()
  }

  return {
    async createEngine(config: RunConfig, run: RunId): Promise<Engine> {
      const engine = await openEngine(config, run, () => undefined)
      const sample = engine.sample.bind(engine)
      engine.sample = async (request, signal) => {
        const sampled = await sample(request, signal)
        turns += 1
        tokens += sampled.tokens.length
        return sampled
      }
      return engine
    },
    trainer(trainer: Trainer): Trainer {
      const update = trainer.update.bind(trainer)
      trainer.update = async (request, onProgress) => {
        const statistics = await update(request, onProgress)
        await mark()
        return statistics
      }
      return trainer
    },
    reached(updates: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      if (marks.length >= updates) resolve()
      else waiting.push({ updates, resolve })
      return promise
    },
    taken({ skip, updates }: Span): Taken {
      const [from, to] = [marks[skip - 1], marks[skip + updates - 1]]
      if (from === undefined || to === undefined) throw new RangeError(`${marks.length} updates were made`)
      return {
        updates,
        seconds: (to.at - from.at) / 1000,
        cpu: timeBetween(from.cpu, to.cpu),
        sampled: {
          turns: to.sampled.turns - from.sampled.turns,
          tokens: to.sampled.tokens - from.sampled.tokens,
        },
      }
    },
  }
}

export function sumOf(all: readonly Taken[]): Taken {
  return all.reduce((sum, each) => ({
    updates: sum.updates + each.updates,
    seconds: sum.seconds + each.seconds,
    cpu: timeTogether(sum.cpu, each.cpu),
    sampled: {
      turns: sum.sampled.turns + each.sampled.turns,
      tokens: sum.sampled.tokens + each.sampled.tokens,
    },
  }))
}

export function lineOf(taken: Taken): string {
  const { seconds, cpu, turns, tokens } = perUpdate(taken)
  const counts = `${turns.toFixed(0)} turns, ${tokens.toFixed(0)} tokens`
  return `${seconds.toFixed(2)} s an update, ${cpu.toFixed(2)} s of CPU, ${counts}`
}

export function perUpdate({ updates, seconds, cpu, sampled }: Taken) {
  return {
    seconds: seconds / updates,
    cpu: (cpu.process + cpu.server) / updates,
    turns: sampled.turns / updates,
    tokens: sampled.tokens / updates,
  }
}
