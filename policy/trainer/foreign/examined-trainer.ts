/**
 * A trainer that is not Perdure's: a program (`createProcessTrainer`) or a module (`module-trainer.ts`), whose results are examined.
 *
 * The embedded trainer does the work that it does not offer (the warm start, log-probabilities).
 *
 * Invariants
 * - [FOREIGN-1] It is started once, by the first call, and kept; a lost trainer is started again by the next call.
 * - [FOREIGN-2] A result that is there is found, without asking it.
 * - [FOREIGN-3] It writes beside the place of the result. Its checkpoint gets that place after the examination, so
 *   that no lie is ever a version.
 * - [FOREIGN-4] Calls are asked one after the other. A call that is given up or fails leaves neither a file nor a process
 *   that works on.
 */
import { rm, symlink } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { z } from 'zod'
import { codeOf } from '../../../faults/system-error.ts'
import { makeFolder } from '../../../machine/files/folder.ts'
import { nameBeside } from '../../../machine/processes/partial-file.ts'
import { adoptCheckpoint } from '../../checkpoints/checkpoint.ts'
import { readManifest } from '../../checkpoints/manifest.ts'
import { CheckpointFault, writingFault } from '../../files/checkpoint-fault.ts'
import {
  type LogprobsRequest,
  type Trainer,
  TrainerFault,
  type UpdateRequest,
  type UpdateStatistics,
  type ValuesRequest,
  type WarmStartRequest,
  type WarmStartStatistics,
} from '../trainer.ts'
import { refuseUnoffered } from '../update/losses.ts'
import type { Progress } from '../update/update.ts'
import { examineResult } from './examined-result.ts'
import { finishedResult } from './finished-result.ts'
import { statisticsSchema, warmStartStatisticsSchema } from './stored-statistics.ts'
import { type TrainerCommand, TrainerProcess } from './trainer-process.ts'
import { updateResultSchema, valuesResultSchema, warmStartResultSchema } from './trainer-protocol.ts'

/** Something to be done. */
export type TrainerWork =
  | { readonly method: 'update'; readonly params: UpdateRequest }
  | { readonly method: 'warmStart'; readonly params: WarmStartRequest }
  | { readonly method: 'values'; readonly params: ValuesRequest }

/** Options of a call. */
export interface Asking {
  readonly onProgress?: Progress | undefined
  /** Gives the work up. */
  readonly signal?: AbortSignal | undefined
}

/** A trainer that was started. */
export interface StartedTrainer {
  readonly methods: readonly string[]
  /** Losses that it offers beside the one of a plain update. */
  readonly losses: readonly string[]
  readonly isLost: boolean
  /** @throws TrainerFault; the reason of the signal where that ends it */
  ask<T>(work: TrainerWork, schema: z.ZodType<T>, asking: Asking): Promise<T>
  /** Gives it up. @param reason in words that follow its name @returns the fault to throw */
  lose(kind: TrainerFault['kind'], reason: string): TrainerFault
  /** May be called twice. */
  end(): Promise<void>
}

/**
 * @param start starts it
 * @param embedded does what it does not offer
 */
export function createExaminedTrainer(
  start: (signal?: AbortSignal) => Promise<StartedTrainer>,
  embedded: Trainer,
): Trainer {
  return new ExaminedTrainer(start, embedded)
}

class ExaminedTrainer implements Trainer {
  readonly #start: (signal?: AbortSignal) => Promise<StartedTrainer>
  readonly #embedded: Trainer
  #started: StartedTrainer | undefined
  #last: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(start: (signal?: AbortSignal) => Promise<StartedTrainer>, embedded: Trainer) {
    this.#start = start
    this.#embedded = embedded
  }

  async losses(): Promise<readonly string[]> {
    return (await this.#inTurn(() => this.#ready())).losses
  }

  update(request: UpdateRequest, onProgress?: Progress, signal?: AbortSignal): Promise<UpdateStatistics> {
    return this.#inTurn(async () => {
      const since = performance.now()
      const { toCheckpointDir, version } = request
      const found = await finishedResult(toCheckpointDir, version, statisticsSchema)
      if (found !== undefined) return { ...found, seconds: (performance.now() - since) / 1000 }
      const started = await this.#ready(signal)
      const { losses } = started
      const { loss = 'clipped' } = request.objective
      refuseUnoffered(request.objective.losses ?? [loss], losses)
      return this.#examined(request, started, statisticsSchema, async (params) => {
        const result = await started.ask({ method: 'update', params }, updateResultSchema, {
          onProgress,
          signal,
        })
        if (params.division?.targetKl !== undefined && result.rejected === undefined)
          throw new TrainerFault(
            'unsupported',
            'the trainer does not say how many steps it left out (`rejected`), so it does not end an update at `learning.targetKl`: set that to 0, or train with policy.trainer: embedded',
          )
        return result
      })
    })
  }

  warmStart(
    request: WarmStartRequest,
    onProgress?: Progress,
    signal?: AbortSignal,
  ): Promise<WarmStartStatistics> {
    return this.#inTurn(async () => {
      const since = performance.now()
      const { toCheckpointDir, version } = request
      const found = await finishedResult(toCheckpointDir, version, warmStartStatisticsSchema)
      if (found !== undefined) return { ...found, seconds: (performance.now() - since) / 1000 }
      const started = await this.#ready(signal)
      if (!started.methods.includes('warmStart')) return this.#embedded.warmStart(request, onProgress, signal)
      return this.#examined(request, started, warmStartStatisticsSchema, (params) =>
        started.ask({ method: 'warmStart', params }, warmStartResultSchema, { onProgress, signal }),
      )
    })
  }

  logprobs(request: LogprobsRequest): Promise<Float32Array> {
    return this.#embedded.logprobs(request)
  }

  values(request: ValuesRequest, signal?: AbortSignal): Promise<readonly number[]> {
    return this.#inTurn(async () => {
      const started = await this.#ready(signal)
      if (!started.methods.includes('values')) return this.#embedded.values(request, signal)
      const params = {
        ...request,
        batchFile: resolve(request.batchFile),
        checkpointDir: resolve(request.checkpointDir),
      }
      return (await started.ask({ method: 'values', params }, valuesResultSchema, { signal })).values
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([this.#started?.end(), this.#embedded.close()])
    await this.#last
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(() => {
      if (this.#closed) throw new TrainerFault('crashed', 'the trainer is closed')
      return work()
    })
    this.#last = result.catch(() => undefined)
    return result
  }

  async #ready(signal?: AbortSignal): Promise<StartedTrainer> {
    if (this.#started?.isLost !== false) this.#started = await this.#start(signal)
    const { methods } = this.#started
    if (methods.includes('update')) return this.#started
    throw this.#started.lose(
      'bad_answer',
      `offers ${methods.join(', ') || 'nothing'}, expected the method "update"`,
    )
  }

  /** Has the result written beside its place, examined and moved there. */
  async #examined<Request extends UpdateRequest | WarmStartRequest, Statistics>(
    request: Request,
    started: StartedTrainer,
    schema: z.ZodType<Statistics>,
    ask: (request: Request) => Promise<{ readonly seconds: number }>,
  ): Promise<Statistics & { readonly seconds: number }> {
    const target = resolve(request.toCheckpointDir)
    const beside = nameBeside(target)
    try {
      makeFolder(beside)
      await linkBase(resolve(request.fromCheckpointDir), beside)
      const written = join(beside, basename(target))
      const { seconds } = await ask({ ...withWholePaths(request), toCheckpointDir: written })
      const statistics = await examineResult(written, request, schema).catch(async (fault: unknown) => {
        // Its next answer would be worth no more.
        await started.end()
        throw fault
      })
      await adoptCheckpoint(written, target)
      return { ...statistics, seconds }
    } catch (cause) {
      throw codeOf(cause) === undefined ? cause : writingFault(target, 'training', cause)
    } finally {
      await rm(beside, { recursive: true, force: true })
    }
  }
}

/** Puts the base of an adapter that is trained beside its next version, where a reader looks for it. */
async function linkBase(fromCheckpointDir: string, beside: string): Promise<void> {
  try {
    const { base } = await readManifest(fromCheckpointDir)
    if (base !== undefined)
      await symlink(join(dirname(fromCheckpointDir), base.folder), join(beside, base.folder), 'junction')
  } catch (cause) {
    // The trainer refuses what it cannot train, as the contract says.
    if (!(cause instanceof CheckpointFault) || cause.kind === 'io') throw cause
  }
}

/** A program may work in another folder. */
function withWholePaths<Request extends UpdateRequest | WarmStartRequest>(request: Request): Request {
  const whole = { ...request, fromCheckpointDir: resolve(request.fromCheckpointDir) }
  if ('batchFile' in whole) {
    const { batchFile, tokenFile, referenceCheckpointDir } = whole
    return {
      ...whole,
      batchFile: resolve(batchFile),
      ...(tokenFile === undefined ? {} : { tokenFile: resolve(tokenFile) }),
      ...(referenceCheckpointDir === undefined
        ? {}
        : { referenceCheckpointDir: resolve(referenceCheckpointDir) }),
    }
  }
  return { ...whole, demonstrationsFile: resolve(whole.demonstrationsFile) }
}

/** @param embedded does what the program does not offer */
export function createProcessTrainer(command: TrainerCommand, embedded: Trainer): Trainer {
  return createExaminedTrainer((signal) => startProcessTrainer(command, signal), embedded)
}

/** The program alone, whose results no one examines. @throws TrainerFault */
export async function startProcessTrainer(
  command: TrainerCommand,
  signal?: AbortSignal,
): Promise<StartedTrainer> {
  const { process, methods, losses } = await TrainerProcess.start(command, signal)
  return {
    ...{ methods, losses },
    get isLost() {
      return process.isLost
    },
    ask: ({ method, params }, schema, asking) => process.ask(method, params, schema, asking),
    lose: (kind, reason) => process.lose(kind, reason),
    end: () => process.end(),
  }
}
