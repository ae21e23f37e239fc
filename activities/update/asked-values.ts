/**
 * Learnt values of the turns of an update, from its trainer.
 *
 * Invariants
 * - [ASKED-VALUES-1] They are those of the checkpoint that the update starts from, also for turns that older versions sampled.
 */
import { algorithms, isAlgorithmName } from '../../learning/algorithms/algorithms.ts'
import { importAlgorithm } from '../../policy/trainer/algorithm-module.ts'
import { writeUpdateBatch } from '../../policy/trainer/batch-file.ts'
import { type Trainer, TrainerFault, type ValuesRequest } from '../../policy/trainer/trainer.ts'
import { batchTensors } from './batch-tensors.ts'
import type { TurnValues } from './update-batch.ts'

/**
 * Asks for values where the algorithm reads them.
 * @param request the batch file is written for it, and again for the update
 * @returns undefined where it reads none
 * @throws ExternalFault of a custom algorithm that does not load; the values throw TrainerFault
 */
export async function askedValues(
  algorithm: string,
  trainer: () => Pick<Trainer, 'values'>,
  request: () => Promise<ValuesRequest>,
  signal?: AbortSignal,
): Promise<TurnValues | undefined> {
  const { valueTargetsOf } = isAlgorithmName(algorithm)
    ? algorithms[algorithm]
    : await importAlgorithm(algorithm)
  if (valueTargetsOf === undefined) return undefined
  return async (played) => {
    const asked = await request()
    const episodes = played.map((trajectory) => ({ trajectory, advantages: [0] }))
    await writeUpdateBatch(asked.batchFile, batchTensors(episodes, { hasValues: true }))
    // Those of an episode are in the order of its tokens, which branches do not have in common with its turns.
    const inOrder = played.map(({ turns }) =>
      [...turns.keys()]
        .filter((turn) => (turns[turn]?.end ?? 0) > (turns[turn]?.begin ?? 0))
        .sort((one, other) => (turns[one]?.begin ?? 0) - (turns[other]?.begin ?? 0)),
    )
    const values = await trainer().values(asked, signal)
    const expected = inOrder.flat().length
    if (values.length !== expected)
      throw new TrainerFault(
        'bad_answer',
        `the trainer gives ${values.length} values, and the batch has ${expected} turns: repair its \`values\`, or train with policy.trainer: embedded`,
      )
    const left = values.values()
    return inOrder.map((order, index) => {
      const found = Array.from(played[index]?.turns ?? [], () => 0)
      for (const turn of order) found[turn] = left.next().value ?? 0
      return found
    })
  }
}
