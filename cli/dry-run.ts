/**
 * `train --dry-run`: the resolved configuration and the plan, without starting anything.
 *
 * Invariants
 * - Reads the configuration and, where the run starts from a checkpoint, that checkpoint's shape; writes nothing.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { freshArchitecture } from '../activities/fresh-architecture.ts'
import { checkRun, type TaskSurroundings } from '../client/task-check.ts'
import { type PlanFacts, planOf, type RunPlan } from '../config/plan.ts'
import type { RunConfig } from '../config/schema.ts'
import { parseArchitecture } from '../policy/checkpoints/architecture-config.ts'
import { isSummedApart } from '../policy/trainer/gradient-sum.ts'
import { type Architecture, elementCount, weightSpecs } from '../policy/transformer/architecture.ts'
import { CallFault } from './failure.ts'
import type { Terminal } from './terminal.ts'
import { bytes, count } from './wording.ts'

/** Prints the configuration and the plan, or reports both as JSON. */
export async function dryRun(
  given: RunConfig,
  terminal: Terminal,
  surroundings: TaskSurroundings,
): Promise<void> {
  const { config, turnLimits, notices } = await checkRun(given, { ...surroundings, setUp: false })
  for (const notice of notices) terminal.say(notice)
  const plan = planOf(config, factsOf(shapeOf(config), turnLimits))
  terminal.report({ config, plan }, [
    stringify(config, { lineWidth: 100 }).trimEnd(),
    '',
    ...planLines(plan, config),
  ])
}

function shapeOf({ policy }: RunConfig): Architecture {
  if (policy.from === undefined) return freshArchitecture(policy, policy.vocabularySize)
  const file = join(policy.from, 'config.json')
  try {
    return parseArchitecture(readFileSync(file, 'utf8'), file)
  } catch (cause) {
    throw new CallFault(
      'bad_argument',
      `\`policy.from\` is "${policy.from}": expected a folder with a Hugging Face checkpoint, but ${cause instanceof Error ? cause.message : file}`,
      { cause },
    )
  }
}

function factsOf(shape: Architecture, limits: ReadonlyMap<string, number>): PlanFacts {
  return {
    parameters: weightSpecs(shape).reduce((sum, { shape: dims }) => sum + elementCount(dims), 0),
    isSummedApart: isSummedApart(shape),
    layers: shape.num_hidden_layers,
    keyValueHeads: shape.num_key_value_heads,
    headDim: shape.head_dim,
    hiddenSize: shape.hidden_size,
    intermediateSize: shape.intermediate_size,
    vocabularySize: shape.vocab_size,
    // Tasks were checked before: each is registered.
    turnLimit: (task) => limits.get(task) ?? 0,
  }
}

/** The plan in words, one figure a line. */
function planLines(plan: RunPlan, { policy, rollout, evaluation }: RunConfig): readonly string[] {
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
