/**
 * Promotion: the mark on the version that users of a run's policy take.
 *
 * Invariants
 * - [PROMOTION-1] The mark is whole or absent: it is written beside and renamed.
 * - It names a version; which checkpoints are kept because of it is decided where they are deleted.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { CheckpointFault, fileFault } from '../files/checkpoint-fault.ts'
import { readWhole, writeDurably } from '../files/durable-file.ts'

/** A figure by which an evaluation is judged, as files have it. */
export const judgedFigureSchema = z.strictObject({
  of: z.string(),
  better: z.enum(['higher', 'lower']),
  unit: z.string().optional(),
  value: z.number(),
  low: z.number(),
  high: z.number(),
})

const promotionSchema = z.strictObject({
  version: z.int().min(0),
  /** ISO 8601, UTC. */
  time: z.iso.datetime(),
  by: z.string().min(1),
  /** The evaluation that supports the promotion. */
  evaluation: z
    .strictObject({
      suite: z.string(),
      success: z.number().min(0).max(1),
      /** The suite's measure, where it is another than success. */
      measured: judgedFigureSchema.optional(),
      /** Episodes that ended with a reward, and those that were to be played. */
      n: z.int().min(0),
      planned: z.int().min(0),
    })
    .optional(),
})

export type Promotion = z.output<typeof promotionSchema>

/** The file of the mark, in the folder of checkpoints. */
export function promotionFile(root: string): string {
  return join(root, 'promoted.json')
}

/** @throws CheckpointFault `io` */
export async function writePromotion(root: string, promotion: Promotion): Promise<void> {
  await writeDurably(promotionFile(root), [`${JSON.stringify(promotion, undefined, 2)}\n`])
}

/** @returns undefined where nothing is promoted @throws CheckpointFault `foreign` a file that is no mark; `io` */
export async function readPromotion(root: string): Promise<Promotion | undefined> {
  const file = promotionFile(root)
  try {
    const parsed = promotionSchema.safeParse(JSON.parse(new TextDecoder().decode(await readWhole(file))))
    if (parsed.success) return parsed.data
    throw new CheckpointFault(
      'foreign',
      `${file} is no mark of a promotion: ${z.prettifyError(parsed.error)}`,
    )
  } catch (cause) {
    if (cause instanceof SyntaxError)
      throw new CheckpointFault('foreign', `${file} is no JSON; promote a version again`, { cause })
    const fault = fileFault(file, 'reading it', cause)
    if (fault.kind === 'missing') return undefined
    throw fault
  }
}
