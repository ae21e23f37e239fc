/**
 * What the embedded engine and its worker thread say to each other.
 *
 * Invariants
 * - Every request with an id is answered once; `sample` may instead end silently after `cancel`.
 * - Faults cross the border as plain fields and are made into their classes again on the other side.
 */
import { reasonOf } from '../../reason.ts'
import { CheckpointFault } from '../checkpoints/checkpoint-fault.ts'
import type { SamplerOptions } from '../sampler/sampler.ts'
import { EngineFault, type EngineStatistics, type SampledTokens, type SamplingRequest } from './engine.ts'

/** Given to the worker at its start. */
export type WorkerOptions = SamplerOptions

export type ToWorker =
  | { readonly type: 'load'; readonly id: number; readonly version: number; readonly checkpointDir: string }
  | { readonly type: 'unload'; readonly id: number; readonly version: number }
  | { readonly type: 'sample'; readonly id: number; readonly request: SamplingRequest }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'release'; readonly cacheKey: string }
  | { readonly type: 'statistics'; readonly id: number }

export type Answer =
  | { readonly id: number; readonly result: SampledTokens }
  | { readonly id: number; readonly statistics: EngineStatistics }
  | { readonly id: number; readonly done: true }
  | { readonly id: number; readonly fault: FaultFields }

/** All answers of a moment in one message. */
export interface FromWorker {
  readonly answers: readonly Answer[]
}

export type FaultFields =
  | { readonly of: 'engine'; readonly kind: EngineFault['kind']; readonly message: string }
  | { readonly of: 'checkpoint'; readonly kind: CheckpointFault['kind']; readonly message: string }

/** The fields of a fault; what is no fault of ours becomes the engine's `backend`. */
export function faultFields(fault: unknown): FaultFields {
  if (fault instanceof CheckpointFault) return { of: 'checkpoint', kind: fault.kind, message: fault.message }
  if (fault instanceof EngineFault) return { of: 'engine', kind: fault.kind, message: fault.message }
  return { of: 'engine', kind: 'backend', message: reasonOf(fault) }
}

export function faultOf(fields: FaultFields): EngineFault | CheckpointFault {
  return fields.of === 'engine'
    ? new EngineFault(fields.kind, fields.message)
    : new CheckpointFault(fields.kind, fields.message)
}
