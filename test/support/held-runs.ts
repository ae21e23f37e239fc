/** Runs that are held at a step until a test lets them continue, and what they say of themselves meanwhile. */

import type { RunProgress, TrainingSession } from '../../client/session/training-session.ts'
import type { Engine } from '../../policy/engines/engine.ts'
import { eventually } from './perdure-process.ts'
import { createGate, createSpeakingEngine, type Gate, sayYesOrNo } from './tiny-run.ts'

/** Gates of one kind of step, by the name of the run that waits at them. */
export class RunGates {
  readonly #gates = new Map<string, Gate>()

  /** Makes the run wait at this gate; who waits at an earlier one continues to wait there. */
  hold(run: string): Gate {
    const gate = createGate()
    this.#gates.set(run, gate)
    return gate
  }

  /** Waits at the gate of the run, where it has one. @param path an id or a folder of the run */
  async pass(path: string): Promise<void> {
    await [...this.#gates].find(([run]) => isOf(run, path))?.[1].passed
  }
}

/** An engine whose turns wait at the gates of their runs. */
export function createHeldEngine(gates: RunGates): Engine {
  return createSpeakingEngine(async (request) => {
    await gates.pass(request.cacheKey)
    return sayYesOrNo(request)
  })
}

/** Whether an id or a folder belongs to a run. */
export function isOf(run: string, path: string): boolean {
  return `/${path}/`.includes(`/${run}/`)
}

/** Waits until the run says of itself what is asked for. */
export function untilProgress(
  session: TrainingSession,
  run: string,
  holds: (progress: RunProgress) => boolean,
): Promise<RunProgress> {
  return eventually(`run ${run} to get there`, async () => {
    const progress = await session.progress(run)
    return holds(progress) ? progress : undefined
  })
}
