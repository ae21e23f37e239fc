/**
 * Thirty mutations of the product: each is a fault that someone could make, and names the tests of `npm test` or
 * `npm test -- --long` that must fail with it. `node test/mutations/run.ts` makes them one after the other.
 *
 * Invariants
 * - The text that a mutation replaces is once in its file.
 */

export interface Mutation {
  readonly file: string
  readonly before: string
  readonly after: string
  /** Paths of test files, one of which must fail. */
  readonly tests: readonly string[]
}

function mutation(file: string, before: string, after: string, ...tests: string[]): Mutation {
  const own = file.replace(/\.ts$/, '.test.ts')
  return { file, before, after, tests: tests.length > 0 ? tests : [own] }
}

export const mutations: readonly Mutation[] = [
  // Learning.
  mutation(
    'learning/algorithms/group-rewards.ts',
    '(centred.length - 1)',
    'centred.length',
    'learning/algorithms/algorithms.test.ts',
  ),
  mutation('learning/algorithms/negative-weight.ts', 'advantage < 0 ? weight', 'advantage <= 0 ? -weight'),
  mutation('learning/algorithms/task-normalization.ts', '(actionTokens - 1)', 'actionTokens'),
  mutation('learning/loss/loss-aggregation.ts', '1 / (episodes * length)', '1 / episodes'),
  mutation('learning/loss/objective.ts', 'Math.max(free, bounded)', 'Math.min(free, bounded)'),
  mutation('learning/loss/objective.ts', 'Math.min(logRatio, k3Knee)', 'logRatio'),
  mutation(
    'learning/evaluation/reward.ts',
    "return outcome === 'completed' || notCompleted",
    "return outcome !== 'completed' || notCompleted",
  ),
  mutation(
    'policy/trainer/update/adamw.ts',
    '1 - beta1 ** step',
    '1',
    'policy/trainer/update/optimization.test.ts',
  ),
  // Which groups are played, and with which version.
  mutation('learning/rollout/admission.ts', 'maxStaleness + 1, Math.max', 'maxStaleness + 2, Math.max'),
  mutation(
    'learning/rollout/admission.ts',
    'due > updates * groupsPerUpdate',
    'due > (updates + 1) * groupsPerUpdate',
  ),
  mutation('learning/rollout/cross-policy.ts', 'version < current && weight > 0', 'weight > 0'),
  mutation('learning/rollout/replay.ts', 'Math.max(1, step - maxAge)', 'Math.max(1, step - maxAge - 1)'),
  mutation('learning/rollout/instance-order.ts', 'greatestCommonDivisor(stride, size) !== 1', 'stride < 0'),
  // Evaluations.
  mutation(
    'learning/evaluation/evaluation-completeness.ts',
    '100 * n >= completePercent',
    '100 * n >= 0 * completePercent',
  ),
  mutation('learning/evaluation/best-version.ts', 'evaluations.filter(isComplete)', 'evaluations'),
  mutation('learning/evaluation/gate.ts', '-high > drop', 'high > drop'),
  mutation('learning/statistics/interval.ts', 'z2 / (4 * n * n)', 'z2 / (4 * n)'),
  // The state of a run.
  mutation(
    'workflows/state/transitions/evaluations.ts',
    'if (state.evaluations.some((each) => !isOther(each) && isComplete(each))) return false\n',
    '',
  ),
  mutation(
    'workflows/state/transitions/groups.ts',
    'if (group === undefined) return\n',
    '',
    'contract/training-state.test.ts',
  ),
  mutation(
    'workflows/state/transitions/update.ts',
    '.filter(({ step }) => step > state.step)',
    '',
    'workflows/state/transitions/refill.test.ts',
  ),
  // Durability.
  mutation('activities/stored/known-work.ts', 'if (step > 0 && (await', 'if (step < 0 && (await'),
  mutation('activities/stored/known-work.ts', 'time < at)', 'time > at)'),
  mutation('storage/sqlite/sqlite.ts', 'if (isCommitted) flushedChanges', 'flushedChanges'),
  mutation('machine/processes/lease.ts', 'return !leases.ids.has', 'return leases.ids.has'),
  mutation(
    'policy/checkpoints/manifest.ts',
    'compareDigest(dir, name, expected, digestOf(bytes))',
    '',
    'policy/checkpoints/checkpoint.test.ts',
  ),
  mutation('activities/calls/stopping.ts', 'if (isStopping) throw workerStopping()', ''),
  // Agents and their environments.
  mutation('policy/calls/action-parsing.ts', "if (end === -1) this.#fail('unclosed_thought')", ''),
  mutation('envs/webshop/shop/reward.ts', ' * type.r_type', ''),
  mutation(
    'worlds/mysql/values/decimal.ts',
    "sign === '-' ? -units : units",
    'units',
    'worlds/mysql/engine.test.ts',
  ),
  mutation('learning/run/version-spans.ts', 'covered === tokens.length', 'covered <= tokens.length'),
]
