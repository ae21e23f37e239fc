/** The messages between the embedded engine and its threads. */

import type { EngineStatistics, SampledTokens, SamplingRequest } from '../engines/engine.ts'
import type { SamplerOptions } from '../sampler/sampler.ts'

/** Given to a thread at its start. */
export type WorkerOptions = SamplerOptions

export type SamplingMethods = {
  readonly load: {
    readonly request: { readonly version: number; readonly checkpointDir: string }
    readonly reply: undefined
  }
  readonly unload: { readonly request: number; readonly reply: undefined }
  readonly sample: { readonly request: SamplingRequest; readonly reply: SampledTokens }
  /** Forgets the cache of a key. */
  readonly release: { readonly request: string; readonly reply: undefined }
  readonly statistics: { readonly request: undefined; readonly reply: EngineStatistics }
}
