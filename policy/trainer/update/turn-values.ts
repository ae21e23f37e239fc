/**
 * Learnt values of turns: V of the hidden state at the last token before a turn (`learning/loss/value-head.ts`).
 *
 * Invariants
 * - [VALUES-1] The values of a checkpoint are those of its policy and its head alone, and the policy in memory stays as it is.
 * - The head is in the facts of a checkpoint, under `valueHead`; one without it begins at zero.
 */
import { fittedHead, type ValueHead, valuesBy } from '../../../learning/loss/value-head.ts'
import type { UpdateBatch } from '../batch.ts'
import type { GraphPolicy, PolicyGraphs } from '../graphs/policy-graphs.ts'
import type { PolicyMemory } from '../graphs/policy-memory.ts'
import type { ValuesRequest } from '../trainer.ts'
import { microBatches } from './micro-batch.ts'
import { readTrainingBatch } from './training-batch.ts'

/** The values of a batch's turns under a checkpoint. @returns [turns] @throws TrainerFault, CheckpointFault, RuntimeFault */
export async function evaluateValues(
  { graphs, memory }: { readonly graphs: PolicyGraphs; readonly memory: PolicyMemory },
  { checkpointDir, batchFile, microBatchTokens }: ValuesRequest,
): Promise<readonly number[]> {
  const policy = await memory.take(checkpointDir, 'policy')
  const batch = await readTrainingBatch(batchFile, policy.architecture)
  const hidden = await hiddenStates(graphs, policy, batch, microBatchTokens)
  await memory.put(checkpointDir, policy)
  return valuesBy(policy.valueHead, hidden, policy.architecture.hidden_size)
}

/** The head fitted to the targets of a batch; as it was where the batch has none. */
export async function fittedTo(
  graphs: PolicyGraphs,
  policy: GraphPolicy & { readonly valueHead: ValueHead | undefined },
  batch: UpdateBatch,
  microBatchTokens: number,
): Promise<ValueHead | undefined> {
  const { turnStarts, valueTargets } = batch
  if (turnStarts === undefined || valueTargets === undefined) return policy.valueHead
  const hidden = await hiddenStates(graphs, policy, batch, microBatchTokens)
  const targets = valueTargets.filter((_, place) => turnStarts[place] === 1)
  return fittedHead(policy.valueHead, hidden, policy.architecture.hidden_size, targets)
}

/** The hidden states before the turns of a batch, in their order: [turns, width]. */
async function hiddenStates(
  graphs: PolicyGraphs,
  policy: GraphPolicy,
  { tokens, offsets, turnStarts = new Uint8Array(tokens.length) }: UpdateBatch,
  microBatchTokens: number,
): Promise<Float32Array> {
  const { architecture } = policy
  const width = architecture.hidden_size
  const micros = microBatches(
    { tokens, offsets, lossMask: turnStarts },
    graphs.tokenLimit(architecture, microBatchTokens),
  )
  const objective = { vectors: {}, numbers: {} }
  const works = micros.map((micro) => ({ micro, objective }))
  const results = await graphs.run(policy, 'hidden', works)
  const places = new Map(
    [...turnStarts.keys()].filter((place) => turnStarts[place] === 1).map((place, turn) => [place, turn]),
  )
  const found = new Float32Array(places.size * width)
  for (const [index, { sources }] of micros.entries())
    for (const [row, source] of sources.entries()) {
      const of = results[index]?.hidden?.subarray(row * width, (row + 1) * width)
      if (of !== undefined) found.set(of, (places.get(source) ?? 0) * width)
    }
  return found
}
