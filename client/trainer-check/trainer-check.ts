/**
 * Checks a trainer, a program or a module, against the contract of trainers/contract.md: `perdure trainer check COMMAND…`.
 *
 * Invariants
 * - The expected results come from the embedded trainer, on the same files.
 * - Every item is tried, whatever the others gave; the folder and the processes are gone afterwards.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { manifestFile } from '../../policy/checkpoints/manifest.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import {
  createProcessTrainer,
  type StartedTrainer,
  startProcessTrainer,
} from '../../policy/trainer/foreign/examined-trainer.ts'
import { createModuleTrainer, startModuleTrainer } from '../../policy/trainer/foreign/module-trainer.ts'
import { updateResultSchema } from '../../policy/trainer/foreign/trainer-protocol.ts'
import { type Trainer, TrainerFault, type UpdateRequest } from '../../policy/trainer/trainer.ts'
import { checkedCases, fixtureIn, type TrainerFixture } from './trainer-check-cases.ts'
import { agreement, BrokenPromise, expectSameBytes, expectValues } from './trainer-check-comparison.ts'

/** An item of the contract, and how the program kept it. */
export interface TrainerCheck {
  readonly item: string
  readonly ok: boolean
  /** Figures, or what went wrong. */
  readonly detail: string
}

/** The trainer to try, and its longest silence. */
export interface TrainerCheckOptions {
  /** The program and its arguments, or the absolute path of a module. */
  readonly trainer: readonly string[] | string
  readonly stallMs: number
  /** Items with these words alone; absent: all. */
  readonly only?: string | undefined
  /** Receives each item as soon as it was tried. */
  readonly onCheck?: (check: TrainerCheck) => void
}

/** Tries every item of the contract. Never throws for what the program does. */
export async function checkTrainer(options: TrainerCheckOptions): Promise<readonly TrainerCheck[]> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-trainer-check-'))
  const embedded = createTrainer({ threads: 1 })
  const shared = programOf(options)
  const checks: TrainerCheck[] = []
  try {
    const fixture = await fixtureIn(folder, embedded)
    for (const [item, attempt] of itemsOf(fixture, { embedded, shared }, options)) {
      if (!item.includes(options.only ?? '')) continue
      const check = { item, ...(await outcomeOf(attempt)) }
      options.onCheck?.(check)
      checks.push(check)
    }
  } finally {
    await Promise.all([shared.close(), embedded.close()])
    await rm(folder, { recursive: true, force: true })
  }
  return checks
}

async function outcomeOf(attempt: () => Promise<string>): Promise<Pick<TrainerCheck, 'ok' | 'detail'>> {
  try {
    return { ok: true, detail: await attempt() }
  } catch (error) {
    return { ok: false, detail: error instanceof Error ? error.message : String(error) }
  }
}

type Item = readonly [name: string, attempt: () => Promise<string>]

/** Dependencies of the items. */
interface Attempting {
  readonly fixture: TrainerFixture
  readonly embedded: Trainer
  /** Gives the program to the work. */
  readonly withProgram: <T>(work: (trainer: Trainer) => Promise<T>) => Promise<T>
}

/** @param shared the program, for items that need no process of their own */
function itemsOf(
  fixture: TrainerFixture,
  { embedded, shared }: { readonly embedded: Trainer; readonly shared: Trainer },
  options: TrainerCheckOptions,
): readonly Item[] {
  const common: Attempting = { fixture, embedded, withProgram: (work) => work(shared) }
  const apart: Attempting = { ...common, withProgram: (work) => usingProgram(options, work) }
  return [...agreements(common), ...refusals(common), ...repetitions(apart), foundItem(fixture, options)]
}

function agreements({ fixture, embedded, withProgram }: Attempting): readonly Item[] {
  const { request, folder } = fixture
  return [
    ...checkedCases.map(
      (one): Item => [
        `agrees with the embedded trainer: ${one.name}`,
        () => withProgram((trainer) => agreement(one, fixture, { trainer, embedded })),
      ],
    ),
    [
      'gives the values of turns, before a head was fitted and after',
      () =>
        withProgram(async (trainer) => {
          const { microBatchTokens, fromCheckpointDir } = request
          const batchFile = join(folder, 'values-batch')
          const fitted = join(folder, 'fitted')
          await embedded.update({ ...request, batchFile, toCheckpointDir: fitted })
          for (const checkpointDir of [fromCheckpointDir, fitted])
            expectValues(
              ...(await Promise.all(
                [trainer, embedded].map((each) =>
                  each.values({ batchFile, checkpointDir, microBatchTokens }),
                ),
              )),
            )
          return 'equal'
        }),
    ],
    [
      'trains from a checkpoint with files that another trainer left',
      () =>
        withProgram((trainer) =>
          agreement(
            { name: 'others files', changes: () => ({ fromCheckpointDir: join(folder, 'others') }) },
            fixture,
            { trainer, embedded },
          ),
        ),
    ],
    [
      'tells how far it has come',
      () =>
        withProgram(async (trainer) => {
          let last: readonly number[] = []
          await trainer.update({ ...request, toCheckpointDir: join(folder, 'progress') }, (...counts) => {
            last = counts
          })
          if (last[0] === undefined || last[0] !== last[1])
            throw new BrokenPromise(
              `the last progress was ${last.join(' of ') || 'none'}, expected all of them`,
            )
          return `${last[1]} parts`
        }),
    ],
  ]
}

function repetitions({ fixture: { request, folder }, withProgram }: Attempting): readonly Item[] {
  return [
    [
      'makes the same bytes again, in a new process and in one that has worked before',
      async () => {
        const [first, again] = [join(folder, 'once'), join(folder, 'again')]
        await withProgram((trainer) => trainer.update({ ...request, toCheckpointDir: first }))
        await withProgram(async (trainer) => {
          await trainer.update({ ...request, toCheckpointDir: join(folder, 'between') })
          await trainer.update({ ...request, toCheckpointDir: again })
        })
        await expectSameBytes(first, again)
        return 'equal'
      },
    ],
    [
      'continues from its own checkpoint as from one that it reads',
      async () => {
        const [one, two, apart] = ['one', 'two', 'apart'].map((name) =>
          join(folder, `continued-${name}`),
        ) as [string, string, string]
        const next = { ...request, fromCheckpointDir: one, version: request.version + 1 }
        await withProgram(async (trainer) => {
          await trainer.update({ ...request, toCheckpointDir: one })
          await trainer.update({ ...next, toCheckpointDir: two })
        })
        await withProgram((trainer) => trainer.update({ ...next, toCheckpointDir: apart }))
        await expectSameBytes(two, apart)
        return 'equal'
      },
    ],
    [
      'makes the same bytes after an update was cancelled',
      async () => {
        const [whole, after] = [join(folder, 'whole'), join(folder, 'after')]
        await withProgram((trainer) => trainer.update({ ...request, toCheckpointDir: whole }))
        await withProgram(async (trainer) => {
          const cancelling = new AbortController()
          const cancelled = trainer.update(
            { ...request, toCheckpointDir: after },
            () => cancelling.abort(new BrokenPromise('cancelled')),
            cancelling.signal,
          )
          await cancelled.catch((error: unknown) => {
            if (!(error instanceof BrokenPromise)) throw error
          })
          await trainer.update({ ...request, toCheckpointDir: after })
        })
        await expectSameBytes(whole, after)
        return 'equal'
      },
    ],
  ]
}

function refusals({ fixture, withProgram }: Attempting): readonly Item[] {
  const { request, folder } = fixture
  return [
    [
      'refuses a batch whose tokens are outside the vocabulary',
      () =>
        withProgram((trainer) =>
          refusal(trainer, { ...request, batchFile: fixture.strangeBatchFile }, 'bad_batch'),
        ),
    ],
    [
      'refuses a batch that is not there',
      () =>
        withProgram((trainer) =>
          refusal(trainer, { ...request, batchFile: join(folder, 'no-batch') }, 'bad_batch'),
        ),
    ],
    [
      'refuses a gradient above the limit',
      () => withProgram((trainer) => refusal(trainer, { ...request, gradientLimit: 1e-12 }, 'exploded')),
    ],
    [
      'refuses to go on when numbers stop being finite',
      () =>
        withProgram((trainer) => {
          // After a first step as large as this the second one has no gradient.
          const optimizer = { ...request.optimizer, learningRate: 1e15 }
          const division = { minibatches: 1, passes: 2, seed: 1 }
          return refusal(trainer, { ...request, optimizer, division }, 'not_finite')
        }),
    ],
    [
      'refuses a checkpoint that is not there',
      () =>
        withProgram((trainer) =>
          refusal(
            trainer,
            { ...request, referenceCheckpointDir: join(folder, 'no-checkpoint') },
            'bad_checkpoint',
          ),
        ),
    ],
    [
      'goes on after a refusal, in the same process',
      () =>
        withProgram(async (trainer) => {
          await refusal(trainer, { ...request, gradientLimit: 1e-12 }, 'exploded')
          await trainer.update({ ...request, toCheckpointDir: join(folder, 'after-refusal') })
          await trainer.update({ ...request, toCheckpointDir: join(folder, 'whole-again') })
          await expectSameBytes(join(folder, 'after-refusal'), join(folder, 'whole-again'))
          return 'trained'
        }),
    ],
  ]
}

/** Asks the program directly: Perdure would find the existing result and not ask. */
function foundItem({ request, folder }: TrainerFixture, options: TrainerCheckOptions): Item {
  const params = { ...request, toCheckpointDir: join(folder, 'found') }
  const manifest = join(params.toCheckpointDir, manifestFile)
  const asked = async (started: StartedTrainer) => {
    const { seconds: _, ...statistics } = await started.ask(
      { method: 'update', params },
      updateResultSchema,
      {},
    )
    return { statistics, written: (await stat(manifest)).mtimeMs }
  }
  return [
    'answers with the statistics of a result that is there, and leaves it as it is',
    async () => {
      const [first, again] = await usingStarted(options, async (started) => [
        await asked(started),
        await asked(started),
      ])
      const restarted = await usingStarted(options, asked)
      for (const answer of [again, restarted])
        if (!isDeepStrictEqual(answer, first))
          throw new BrokenPromise(
            answer?.written === first?.written
              ? `the statistics are ${JSON.stringify(answer?.statistics)}, at first ${JSON.stringify(first?.statistics)}`
              : 'it wrote the checkpoint once more',
          )
      return 'found'
    },
  ]
}

/** The program as a trainer, asked only for features that it offers. */
function programOf({ trainer, stallMs }: TrainerCheckOptions): Trainer {
  const embedded = createTrainer({ threads: 1 })
  const watched = { stallMs, threads: 2 }
  return typeof trainer === 'string'
    ? createModuleTrainer({ path: trainer, ...watched }, embedded)
    : createProcessTrainer({ command: trainer, ...watched }, embedded)
}

async function usingProgram<T>(
  options: TrainerCheckOptions,
  work: (trainer: Trainer) => Promise<T>,
): Promise<T> {
  const trainer = programOf(options)
  try {
    return await work(trainer)
  } finally {
    await trainer.close()
  }
}

async function usingStarted<T>(
  { trainer, stallMs }: TrainerCheckOptions,
  work: (started: StartedTrainer) => Promise<T>,
): Promise<T> {
  const watched = { stallMs, threads: 2 }
  const embedded = createTrainer({ threads: 1 })
  try {
    const started =
      typeof trainer === 'string'
        ? await startModuleTrainer({ path: trainer, ...watched }, embedded)
        : await startProcessTrainer({ command: trainer, ...watched })
    try {
      return await work(started)
    } finally {
      await started.end()
    }
  } finally {
    await embedded.close()
  }
}

async function refusal(
  trainer: Trainer,
  request: UpdateRequest,
  kind: TrainerFault['kind'],
): Promise<string> {
  try {
    await trainer.update({ ...request, toCheckpointDir: `${request.toCheckpointDir}-refused` })
  } catch (error) {
    if (error instanceof TrainerFault && error.kind === kind) return `${kind}: ${error.message}`
    const found = error instanceof TrainerFault ? `${error.kind}: ${error.message}` : String(error)
    throw new BrokenPromise(`expected the error ${kind}, got ${found}`, { cause: error })
  }
  throw new BrokenPromise(`expected the error ${kind}, but it trained`)
}
