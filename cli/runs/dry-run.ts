/**
 * `train --dry-run`: the resolved configuration and the plan, without starting anything.
 *
 * Invariants
 * - Checks all that the start checks, and writes nothing.
 */
import { join } from 'node:path'
import { stringify } from 'yaml'
import { freshArchitecture } from '../../activities/warm-start/first-checkpoint.ts'
import { checkRun, type TaskSurroundings } from '../../client/checks/task-check.ts'
import { type PlanFacts, type PlanRates, planOf, type RunPlan } from '../../config/plan.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { isCacheOff, warmStartsFolder } from '../../machine/files/folder.ts'
import { readTextSync } from '../../machine/files/text-file.ts'
import { parseArchitecture } from '../../policy/checkpoints/architecture-config.ts'
import { isSummedApart } from '../../policy/trainer/graphs/gradient-sum.ts'
import { adapterSpecs } from '../../policy/transformer/adapter.ts'
import {
  type Architecture,
  elementCount,
  type WeightSpec,
  weightSpecs,
} from '../../policy/transformer/architecture.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { bytes, count } from '../terminal/wording.ts'

/** Prints the configuration and the plan, or reports both as JSON. */
export async function dryRun(
  given: RunConfig,
  terminal: Terminal,
  { rates, ...surroundings }: TaskSurroundings & { readonly rates: PlanRates },
): Promise<void> {
  const { config, turnLimits, notices } = await checkRun(given, { ...surroundings, setUp: false })
  for (const notice of notices) terminal.say(notice)
  const plan = planOf(config, factsOf(config, shapeOf(config), turnLimits), rates)
  terminal.report({ config, plan }, [
    stringify(config, { lineWidth: 100 }).trimEnd(),
    '',
    ...planLines(plan, config),
  ])
}

function shapeOf({ policy }: RunConfig): Architecture {
  if (policy.from === undefined) return freshArchitecture(policy, policy.vocabularySize)
  const file = join(policy.from, 'config.json')
  return parseArchitecture(readTextSync(file), file)
}

function factsOf({ policy }: RunConfig, shape: Architecture, limits: ReadonlyMap<string, number>): PlanFacts {
  return {
    parameters: numbersIn(weightSpecs(shape)),
    adapterParameters: policy.lora === undefined ? 0 : numbersIn(adapterSpecs(shape, policy.lora)),
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

function numbersIn(specs: readonly WeightSpec[]): number {
  return specs.reduce((sum, { shape }) => sum + elementCount(shape), 0)
}

function warmStartLine({ demonstrations }: RunPlan): string {
  if (demonstrations === 0) return 'none'
  const made = `${count(demonstrations)} demonstrations`
  return isCacheOff() ? made : `${made}; one that was made from the same is taken from ${warmStartsFolder()}`
}

/** The plan in words, one figure a line. */
function planLines(plan: RunPlan, { policy, rollout, evaluation }: RunConfig): readonly string[] {
  const { memory, tokens, checkpoints, operations } = plan
  const rows: [string, string][] = [
    ['parameters', `${count(plan.parameters)}${policy.from === undefined ? '' : ` from ${policy.from}`}`],
    ['warm start', warmStartLine(plan)],
    ['updates', count(plan.updates)],
    [
      'episodes',
      `${count(plan.episodes)} = ${count(plan.groups)} groups of ${rollout.groupSize}, at most ${count(plan.episodesInFlight)} at once${plan.skippedEpisodes === 0 ? '' : `, and up to ${count(plan.skippedEpisodes)} of groups that teach nothing`}`,
    ],
    [
      'evaluations',
      `${count(plan.evaluations)}, ${count(plan.evaluationEpisodes)} episodes (${evaluation.suites.map(({ name }) => name).join(', ') || 'no suite'})`,
    ],
    ['tokens', `at most ${count(tokens.sampled)} sampled, ${count(tokens.trained)} trained on`],
    ['checkpoints', `${bytes(checkpoints.bytes)} each, the latest ${checkpoints.kept} kept`],
    [
      'arithmetic',
      `at most ${operations.sampling.toExponential(1)} operations to sample, ${operations.training.toExponential(1)} to train`,
    ],
    [
      'memory',
      `about ${bytes(memory.total)} = policy ${bytes(memory.policy)} + KV cache up to ${bytes(memory.keyValueCache)} + weights, gradient, optimizer ${bytes(memory.training)} + activations about ${bytes(memory.activations)}`,
    ],
    ...elsewhereRows(plan.memory),
    ...timeRows(plan),
  ]
  return ['Plan', ...rows.map(([name, value]) => `  ${name.padEnd(12)} ${value}`)]
}

/** Memory of other processes. The figures assume 4 bytes a number; a process that uses 2 bytes needs half. */
function elsewhereRows({ servers, trainer }: RunPlan['memory']): readonly [string, string][] {
  const rows: [string, string][] = []
  if (servers > 0) rows.push(['of it', `${bytes(servers)} at the engine's servers, half of it in 16 bits`])
  if (trainer > 0) rows.push(['of it', `${bytes(trainer)} in the trainer's process, over all its ranks`])
  return rows
}

/** At the rates that were given. */
function timeRows({ hours: { sampling, training }, cost }: RunPlan): readonly [string, string][] {
  const parts = [
    ...(sampling === undefined ? [] : [`${figure(sampling)} h to sample`]),
    ...(training === undefined ? [] : [`${figure(training)} h to train`]),
  ]
  if (sampling !== undefined && training !== undefined)
    parts.push(`together ${figure(sampling + training)} h, less where they overlap`)
  return [
    ...(parts.length === 0 ? [] : [['time', `at most ${parts.join(', ')}`] as [string, string]]),
    ...(cost === undefined ? [] : [['cost', `at most ${figure(cost)}`] as [string, string]]),
  ]
}

/** Two digits of a small number, no fraction of a large one. */
function figure(value: number): string {
  return value < 10 ? String(Number(value.toPrecision(2))) : count(Math.round(value))
}
