/**
 * `train --dry-run`: the resolved configuration and the plan, without starting anything.
 *
 * Invariants
 * - Reads the configuration and, where the run starts from a checkpoint, that checkpoint's shape; writes nothing.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { z } from 'zod'
import { type PlanFacts, planOf, type RunPlan } from '../config/plan.ts'
import type { RunConfig } from '../config/schema.ts'
import { type Architecture, elementCount, weightSpecs } from '../policy/transformer/architecture.ts'
import { CallFault } from './failure.ts'
import type { Terminal } from './terminal.ts'
import { bytes, count } from './wording.ts'

const shapeSchema = z.object({
  vocab_size: z.int().positive(),
  hidden_size: z.int().positive(),
  intermediate_size: z.int().positive(),
  num_hidden_layers: z.int().positive(),
  num_attention_heads: z.int().positive(),
  num_key_value_heads: z.int().positive().optional(),
  head_dim: z.int().positive().nullish(),
  rope_theta: z.number().positive().default(10_000),
  rms_norm_eps: z.number().positive().default(1e-6),
  tie_word_embeddings: z.boolean().default(false),
  max_position_embeddings: z.int().positive().default(2048),
})

/** Prints the configuration and the plan, or reports both as JSON. */
export async function dryRun(config: RunConfig, terminal: Terminal): Promise<void> {
  const plan = planOf(config, factsOf(shapeOf(config), await turnLimits()))
  terminal.report({ config, plan })
  terminal.say(stringify(config, { lineWidth: 100 }).trimEnd())
  terminal.say('')
  for (const line of planLines(plan, config)) terminal.say(line)
}

/** Turn limits of the tasks as the registry gives them. */
async function turnLimits(): Promise<ReadonlyMap<string, number>> {
  const { environments } = await import('../envs/registry.ts')
  return new Map(environments.map(({ name, turnLimit }) => [name, turnLimit]))
}

function shapeOf({ policy }: RunConfig): Architecture {
  if (policy.from === undefined)
    return {
      vocab_size: policy.vocabularySize,
      hidden_size: policy.hiddenSize,
      intermediate_size: policy.intermediateSize,
      num_hidden_layers: policy.layers,
      num_attention_heads: policy.heads,
      num_key_value_heads: policy.keyValueHeads,
      head_dim: policy.hiddenSize / policy.heads,
      rope_theta: 10_000,
      rms_norm_eps: 1e-6,
      tie_word_embeddings: true,
      max_position_embeddings: policy.contextLength,
    }
  const file = join(policy.from, 'config.json')
  try {
    const shape = shapeSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
    return {
      ...shape,
      num_key_value_heads: shape.num_key_value_heads ?? shape.num_attention_heads,
      head_dim: shape.head_dim ?? shape.hidden_size / shape.num_attention_heads,
    }
  } catch (cause) {
    throw new CallFault(
      'bad_argument',
      `\`policy.from\` is "${policy.from}": expected a folder with a Hugging Face checkpoint, but ${file} cannot be read as its configuration`,
      { cause },
    )
  }
}

function factsOf(shape: Architecture, limits: ReadonlyMap<string, number>): PlanFacts {
  return {
    parameters: weightSpecs(shape).reduce((sum, { shape: dims }) => sum + elementCount(dims), 0),
    layers: shape.num_hidden_layers,
    keyValueHeads: shape.num_key_value_heads,
    headDim: shape.head_dim,
    hiddenSize: shape.hidden_size,
    intermediateSize: shape.intermediate_size,
    vocabularySize: shape.vocab_size,
    turnLimit(task) {
      const limit = limits.get(task)
      if (limit === undefined)
        throw new CallFault(
          'bad_argument',
          `\`tasks\` names "${task}": expected one of ${[...limits.keys()].join(', ')}`,
        )
      return limit
    },
  }
}

/** The plan in words, one figure a line. */
export function planLines(plan: RunPlan, { policy, rollout, evaluation }: RunConfig): readonly string[] {
  const { memory, tokens, checkpoints } = plan
  const rows: [string, string][] = [
    ['parameters', `${count(plan.parameters)}${policy.from === undefined ? '' : ` from ${policy.from}`}`],
    ['warm start', plan.demonstrations === 0 ? 'none' : `${count(plan.demonstrations)} demonstrations`],
    ['updates', count(plan.updates)],
    [
      'episodes',
      `${count(plan.episodes)} = ${count(plan.groups)} groups of ${rollout.groupSize}, at most ${count(plan.episodesInFlight)} at once`,
    ],
    [
      'evaluations',
      `${count(plan.evaluations)}, ${count(plan.evaluationEpisodes)} episodes (${evaluation.suites.map(({ name }) => name).join(', ') || 'no suite'})`,
    ],
    ['tokens', `at most ${count(tokens.sampled)} sampled, ${count(tokens.trained)} trained on`],
    ['checkpoints', `${bytes(checkpoints.bytes)} each, the latest ${checkpoints.kept} kept`],
    [
      'memory',
      `about ${bytes(memory.total)} = policy ${bytes(memory.policy)} + KV cache up to ${bytes(memory.keyValueCache)} + weights, gradient, optimizer ${bytes(memory.training)} + activations about ${bytes(memory.activations)}`,
    ],
  ]
  return ['Plan', ...rows.map(([name, value]) => `  ${name.padEnd(12)} ${value}`)]
}
