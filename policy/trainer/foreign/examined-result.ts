/**
 * The examination of a checkpoint from a trainer in another process, before it is published.
 *
 * Invariants
 * - [EXAMINED-1] A result that passes is the next checkpoint of the one trained from: its shape and text byte for byte, every weight and
 *   moment there and finite, the version asked for, and the statistics that a second attempt will find.
 */
import type { z } from 'zod'
import { readCheckpointText, verifyCheckpoint } from '../../checkpoints/checkpoint.ts'
import { readManifest } from '../../checkpoints/manifest.ts'
import { readWithMoments } from '../../checkpoints/restoring.ts'
import { CheckpointFault } from '../../files/checkpoint-fault.ts'
import { TrainerFault } from '../trainer.ts'
import { squares } from '../update/adamw.ts'

/** The request for the result. */
interface AskedResult {
  readonly fromCheckpointDir: string
  readonly version: number
}

/** Files that stay as they are from version to version. */
const constantFiles = [
  'config.json',
  'tokenizer.json',
  'generation_config.json',
  'tokenizer_config.json',
  'chat_template.jinja',
  'adapter_config.json',
] as const

/**
 * @param schema of the statistics that it keeps
 * @returns those statistics
 * @throws TrainerFault `bad_answer`, or `not_finite` naming a weight; CheckpointFault of the one trained from, and `io`
 */
export async function examineResult<Statistics>(
  dir: string,
  { fromCheckpointDir, version }: AskedResult,
  schema: z.ZodType<Statistics>,
): Promise<Statistics> {
  const before = {
    ...(await readCheckpointText(fromCheckpointDir)),
    ...(await readManifest(fromCheckpointDir)),
  }
  try {
    const state = await verifyCheckpoint(dir)
    if (state.version !== version)
      throw refused(`says that it is version ${state.version}, expected ${version}`)
    if (state.step <= before.state.step || state.chat !== before.state.chat)
      throw refused(
        `is at optimizer step ${state.step} with chat format ${state.chat}, the one trained from at step ${before.state.step} with ${before.state.chat}`,
      )
    const { base, files } = await readManifest(dir)
    for (const name of constantFiles)
      if (files[name]?.sha256 !== before.files[name]?.sha256)
        throw refused(`has another ${name} than the one trained from, which must be copied`)
    if (base?.sha256 !== before.base?.sha256 || base?.folder !== before.base?.folder)
      throw refused('names another base than the one trained from')
    await examineNumbers(dir)
    const statistics = schema.safeParse(state.facts.statistics)
    if (statistics.success) return statistics.data
    const [issue] = statistics.error.issues
    throw refused(`has facts.statistics of another form: ${issue?.path.join('.')}: ${issue?.message}`)
  } catch (cause) {
    if (cause instanceof CheckpointFault && cause.kind !== 'io')
      throw refused(`cannot be used: ${cause.message}`, cause)
    throw cause
  }
}

async function examineNumbers(dir: string): Promise<void> {
  const { weights, adapter, optimizer } = await readWithMoments(dir)
  const arrays = [
    ['', adapter?.weights ?? weights],
    ['first.', optimizer?.first],
    ['second.', optimizer?.second],
  ] as const
  for (const [prefix, named] of arrays)
    for (const [name, values] of named ?? [])
      if (!Number.isFinite(squares(values)))
        throw new TrainerFault(
          'not_finite',
          `${prefix}${name} is not finite in what the trainer wrote: lower the learning rate`,
        )
}

function refused(what: string, cause?: unknown): TrainerFault {
  return new TrainerFault('bad_answer', `the checkpoint that the trainer wrote ${what}`, { cause })
}
