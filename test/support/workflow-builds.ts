/**
 * Builds of the workflows: copies of their code with a change, as another release would bring.
 *
 * Invariants
 * - A change that no longer applies fails, and is never left out in silence.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Replacements in files of the workflows. */
export type CodeChange = readonly (readonly [file: string, before: string, after: string])[]

export interface WorkflowCopies extends Disposable {
  /** @returns the folder of the workflows with that change */
  changed(name: string, change: CodeChange): string
}

const sources = fileURLToPath(new URL('../..', import.meta.url))

/** A folder for copies; disposing of it deletes them. */
export function workflowCopies(): WorkflowCopies {
  const home = mkdtempSync(join(tmpdir(), 'perdure-builds-'))
  symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(home, 'node_modules'))
  return {
    changed(name, change) {
      const root = join(home, name)
      mkdirSync(root)
      for (const part of ['workflows', 'contract', 'learning', 'identity'])
        cpSync(join(sources, part), join(root, part), { recursive: true })
      for (const [file, before, after] of change) {
        const path = join(root, 'workflows', file)
        const code = readFileSync(path, 'utf8')
        if (!code.includes(before)) throw new RangeError(`${file} does not say "${before}"`)
        writeFileSync(path, code.replace(before, after))
      }
      return join(root, 'workflows')
    },
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  }
}

/** Other words in a place that no history holds: what ran with the code before replays. */
export const compatible: CodeChange = [
  ['play/rollout-group.ts', "log.warn('run not reached'", "log.warn('the run was not reached'"],
]

/** A timer at the beginning of run, group and episode: nothing that ran with the code before replays. */
export const incompatible: CodeChange = [
  ['run/training-run.ts', '  condition,\n', '  condition,\n  sleep,\n'],
  ['run/training-run.ts', '  await warmStart(state)\n', '  await sleep(1)\n  await warmStart(state)\n'],
  ['play/rollout-group.ts', '  condition,\n', '  condition,\n  sleep,\n'],
  ['play/rollout-group.ts', '    const played = await', '    await sleep(1)\n    const played = await'],
  ['play/episode.ts', '  CancellationScope,\n', '  CancellationScope,\n  sleep,\n'],
  ['play/episode.ts', '    ending = await playTurns', '    await sleep(1)\n    ending = await playTurns'],
]

/**
 * A timer that only a live execution starts, at the beginning of run and group: what runs with it does not replay with it,
 * as where an execution missed what its history holds.
 */
export const breaking: CodeChange = [
  ['run/training-run.ts', '  condition,\n', '  condition,\n  sleep,\n  workflowInfo,\n'],
  [
    'run/training-run.ts',
    '  await warmStart(state)\n',
    '  if (!workflowInfo().unsafe.isReplaying) await sleep(1)\n  await warmStart(state)\n',
  ],
  ['play/rollout-group.ts', '  condition,\n', '  condition,\n  sleep,\n  workflowInfo,\n'],
  [
    'play/rollout-group.ts',
    '    const played = await',
    '    if (!workflowInfo().unsafe.isReplaying) await sleep(1)\n    const played = await',
  ],
]
