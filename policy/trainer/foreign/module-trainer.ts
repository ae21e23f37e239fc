/**
 * A custom trainer, from a module: `policy.trainer: ./my-trainer`.
 *
 * It runs in the trainer's worker, and its results are examined like those of a program.
 *
 * Invariants
 * - [MODULE-TRAINER-1] An error, a wrong answer, or silence for the stall limit is a fault that names the trainer; its next
 *   call opens it again.
 * - [MODULE-TRAINER-2] The embedded trainer does the work that it leaves out, the warm start for instance.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { reasonOf } from '../../../faults/reason.ts'
import { ExternalFault, importOnly } from '../../../machine/modules/external-module.ts'
import { ownedBy, reportingOwner } from '../../../machine/modules/module-code.ts'
import { type OwnTrainer, type Trainer, type TrainerDefinition, TrainerFault } from '../trainer.ts'
import {
  type Asking,
  createExaminedTrainer,
  type StartedTrainer,
  type TrainerWork,
} from './examined-trainer.ts'

/** A trainer that does not close in this time is left: it is asked nothing more. */
const leaveMs = 5000

const definitionSchema = z.looseObject({
  name: z.string().min(1),
  openTrainer: z.custom<TrainerDefinition['openTrainer']>(
    (value) => typeof value === 'function',
    'expected a function',
  ),
})

/** The trainer that a module exports. @param path absolute @throws ExternalFault */
export async function importTrainer(path: string): Promise<TrainerDefinition> {
  return (await importOnly(path, {
    words: { one: 'trainer', several: 'trainers' },
    keys: ['openTrainer'],
    written: 'export const trainer: TrainerDefinition = …',
    schema: definitionSchema,
  })) as TrainerDefinition
}

/** How a module's trainer is opened and watched. */
export interface TrainerModule {
  /** Absolute path. */
  readonly path: string
  readonly threads: number
  /** Longest silence while it works, in milliseconds. */
  readonly stallMs: number
}

/** @param embedded does what the module leaves out, and is lent to it */
export function createModuleTrainer(module: TrainerModule, embedded: Trainer): Trainer {
  return createExaminedTrainer(() => startModuleTrainer(module, embedded), embedded)
}

/** The module alone, whose results no one examines. @throws TrainerFault */
export function startModuleTrainer(module: TrainerModule, embedded: Trainer): Promise<StartedTrainer> {
  return OpenedModule.open(module, embedded)
}

class OpenedModule implements StartedTrainer {
  readonly methods: readonly string[]
  readonly losses: readonly string[]
  readonly #name: string
  readonly #own: OwnTrainer
  readonly #stallMs: number
  /** Given up with its fault. */
  readonly #lost = new AbortController()
  #ending: Promise<void> | undefined

  private constructor(name: string, own: OwnTrainer, losses: readonly string[], stallMs: number) {
    this.#name = name
    this.#own = own
    this.losses = losses
    this.methods = ['update', ...(['warmStart', 'values'] as const).filter((name) => own[name] !== undefined)]
    this.#stallMs = stallMs
  }

  /** @throws TrainerFault */
  static async open({ path, threads, stallMs }: TrainerModule, embedded: Trainer): Promise<OpenedModule> {
    let name = `of ${path}`
    try {
      const definition = await importTrainer(path)
      name = `"${definition.name}" of ${path}`
      const own = await definition.openTrainer({
        threads,
        embedded: {
          update: (...asked) => embedded.update(...asked),
          warmStart: (...asked) => embedded.warmStart(...asked),
          logprobs: (...asked) => embedded.logprobs(...asked),
          values: (...asked) => embedded.values(...asked),
        },
      })
      const owned = ownedBy(reportingOwner(`the trainer ${name}`), own)
      return new OpenedModule(name, owned, (await owned.losses?.()) ?? [], stallMs)
    } catch (cause) {
      if (cause instanceof ExternalFault) throw new TrainerFault('backend', cause.message, { cause })
      throw faultOf(name, cause)
    }
  }

  get isLost(): boolean {
    return this.#lost.signal.aborted
  }

  async ask<T>(work: TrainerWork, schema: z.ZodType<T>, asking: Asking): Promise<T> {
    const { signal } = asking
    signal?.throwIfAborted()
    const given = AbortSignal.any([this.#lost.signal, ...(signal === undefined ? [] : [signal])])
    const { promise: givenUp, reject } = Promise.withResolvers<never>()
    const giveUp = () => reject(given.reason)
    given.addEventListener('abort', giveUp, { once: true })
    const timer = setTimeout(
      () => this.lose('stalled', `reported nothing about "${work.method}" for ${this.#stallMs / 1000} s`),
      this.#stallMs,
    )
    try {
      const onProgress = this.#progress(timer, asking)
      const answer = schema.safeParse(await Promise.race([this.#do(work, onProgress, given), givenUp]))
      given.throwIfAborted()
      if (answer.success) return answer.data
      const [issue] = answer.error.issues
      throw this.lose(
        'bad_answer',
        `answered "${work.method}" wrongly: ${issue?.path.join('.')}: ${issue?.message}`,
      )
    } catch (cause) {
      if (given.aborted) await Promise.allSettled([this.end()])
      throw given.aborted ? given.reason : faultOf(this.#name, cause)
    } finally {
      clearTimeout(timer)
      given.removeEventListener('abort', giveUp)
    }
  }

  lose(kind: TrainerFault['kind'], reason: string): TrainerFault {
    const fault = new TrainerFault(kind, `the trainer ${this.#name} ${reason}`)
    this.#lost.abort(fault)
    return fault
  }

  end(): Promise<void> {
    this.#lost.abort(new TrainerFault('crashed', `the trainer ${this.#name} was ended`))
    this.#ending ??= this.#close()
    return this.#ending
  }

  async #close(): Promise<void> {
    try {
      await Promise.race([this.#own.close?.(), delay(leaveMs, undefined, { ref: false })])
    } catch (cause) {
      throw faultOf(this.#name, cause)
    }
  }

  async #do(work: TrainerWork, onProgress: Asking['onProgress'], signal: AbortSignal): Promise<unknown> {
    if (work.method === 'values') return { values: await this.#own.values?.(work.params, signal) }
    return work.method === 'update'
      ? await this.#own.update(work.params, onProgress, signal)
      : await this.#own.warmStart?.(work.params, onProgress, signal)
  }

  /** Progress that does not advance is nothing new. */
  #progress(timer: NodeJS.Timeout, { onProgress }: Asking): Asking['onProgress'] {
    let last = -1
    return (done, total) => {
      if (done > total) this.lose('bad_answer', `reported that ${done} of ${total} parts are done`)
      if (done <= last || this.isLost) return
      last = done
      timer.refresh()
      onProgress?.(done, total)
    }
  }
}

function faultOf(name: string, cause: unknown): TrainerFault {
  if (cause instanceof TrainerFault) return cause
  return new TrainerFault('backend', `the trainer ${name} failed: ${reasonOf(cause)}`, { cause })
}
