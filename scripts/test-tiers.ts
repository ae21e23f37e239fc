/**
 * The tiers of tests. `x.test.ts` is quick and always runs, `x.long.test.ts` runs in CI, `x.nightly.test.ts` runs when
 * everything does, or in CI when a folder changed that it tests.
 *
 * Invariants
 * - [TIERS-1] Each nightly test is in the table, and each folder and file that the table names exists.
 * - [TIERS-2] A change counts from the commit in which the branch left `main`, whether it is committed or not.
 */
import { spawnSync } from 'node:child_process'

/** Beginnings of paths, and the nightly tests that run in CI when a file below one of them changed. */
const nightlyTests: readonly (readonly [places: readonly string[], tests: readonly string[]])[] = [
  [
    ['trainers/pytorch/', 'policy/trainer/'],
    ['test/peers/pytorch-trainer.nightly.test.ts', 'test/peers/foreign-run.nightly.test.ts'],
  ],
  [
    ['policy/templates/', 'policy/checkpoints/', 'policy/tokenizer/', 'policy/transformer/'],
    ['test/peers/transformers.nightly.test.ts', 'test/peers/smollm2.nightly.test.ts'],
  ],
  [
    ['policy/dialects/', 'policy/engines/', 'policy/served/'],
    ['test/peers/llama-evaluation.nightly.test.ts', 'test/peers/foreign-run.nightly.test.ts'],
  ],
  [['bridges/', 'envs/bridges/'], ['envs/bridges/python-libraries.nightly.test.ts']],
  [['client/serving/', 'policy/endpoint/'], ['client/serving/clients/python-clients.nightly.test.ts']],
  [['envs/remote/'], ['envs/remote/openenv/openenv.nightly.test.ts']],
  [['envs/mcp/'], ['envs/mcp/mcp.nightly.test.ts']],
  [
    ['client/environment-server/', 'envs/remote/agentrl/'],
    ['client/environment-server/agentrl.nightly.test.ts'],
  ],
  [['learning/', 'examples/'], ['test/runs/learning.nightly.test.ts']],
  [
    ['client/experiment/', 'workflows/experiment', 'learning/'],
    ['test/faults/killed-experiment.nightly.test.ts'],
  ],
  [
    ['storage/trackers/'],
    ['test/peers/trackers.nightly.test.ts', 'test/faults/killed-trackers.nightly.test.ts'],
  ],
  [
    ['dashboard/'],
    [
      'dashboard/agent-episode.nightly.test.ts',
      'dashboard/hostile-text.nightly.test.ts',
      'dashboard/many-episodes.nightly.test.ts',
      'dashboard/page.nightly.test.ts',
      'test/watching/dashboard-live.nightly.test.ts',
      'test/watching/dashboard.nightly.test.ts',
    ],
  ],
  [['workflows/page/'], ['test/watching/inspect.nightly.test.ts']],
  [['bin/', 'cli/terminal/interrupt'], ['test/faults/signals.nightly.test.ts']],
  [
    ['worlds/containers/'],
    [
      'worlds/containers/disk/disk-watch.nightly.test.ts',
      'worlds/containers/shell/flood.nightly.test.ts',
      'worlds/containers/never-leaked.nightly.test.ts',
      'worlds/containers/sandbox.nightly.test.ts',
      'worlds/containers/disk/sized-layers.nightly.test.ts',
      'worlds/containers/system-calls.nightly.test.ts',
      'test/faults/disk-attacks.nightly.test.ts',
    ],
  ],
  [['envs/os/'], ['envs/os/containers/official.nightly.test.ts']],
  [
    ['envs/remote/harbor/', 'envs/os/containers/', 'examples/harbor/'],
    ['envs/remote/harbor/played.nightly.test.ts'],
  ],
  [
    ['envs/db/', 'worlds/mysql/'],
    ['envs/db/server/differential.nightly.test.ts', 'envs/db/server/backend.nightly.test.ts'],
  ],
  [['envs/alfworld/', 'worlds/text-adventure/'], ['envs/alfworld/rearranged-home.nightly.test.ts']],
]

/** Everything that the table names. */
export const tabled = {
  places: nightlyTests.flatMap(([places]) => places),
  tests: nightlyTests.flatMap(([, tests]) => tests),
}

/** The nightly tests of what changed. @param changed paths in the repository */
export function nightlyTestsOf(changed: readonly string[]): readonly string[] {
  const found = nightlyTests.flatMap(([places, tests]) =>
    changed.some((path) => places.some((place) => path.startsWith(place))) ? tests : [],
  )
  return [...new Set(found)].toSorted()
}

/** The paths that differ from the commit in which this branch left `main`; undefined where git does not know it. */
export function changedPaths(root: string): readonly string[] | undefined {
  const base = ['origin/main', 'main']
    .map((main) => git(root, 'merge-base', 'HEAD', main)?.[0])
    .find((commit) => commit !== undefined)
  const changed = base === undefined ? undefined : git(root, 'diff', '--name-only', '--no-renames', base)
  const added = git(root, 'ls-files', '--others', '--exclude-standard')
  return changed === undefined || added === undefined ? undefined : [...changed, ...added]
}

/** The lines of git's answer; undefined where it fails. */
function git(root: string, ...words: readonly string[]): readonly string[] | undefined {
  const { status, stdout } = spawnSync('git', words, { cwd: root, encoding: 'utf8' })
  return status === 0 ? stdout.split('\n').filter((line) => line !== '') : undefined
}
