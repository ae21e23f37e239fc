/**
 * Programs in a PID namespace of their own, as the processes of a container are.
 *
 * Invariants
 * - Where no such namespace can be made the reason is reported.
 */
import { spawnSync } from 'node:child_process'

/** With a `/proc` of its own, as in a container, or with the one from outside. */
export const namespaceKinds = { container: ['--mount-proc'], 'bare namespace': [] } as const
export type NamespaceKind = keyof typeof namespaceKinds

/** Why none can be made here; undefined where one can. */
export function namespaceMissing(): string | undefined {
  if (process.platform !== 'linux') return 'PID namespaces need Linux'
  const { status, stderr, error } = spawnSync('unshare', wordsFor('container', ['true']), {
    encoding: 'utf8',
  })
  return status === 0 ? undefined : `unshare failed: ${error?.message ?? stderr.trim()}`
}

/** Arguments of `unshare` that run a module's text in a new namespace. */
export function moduleThere(kind: NamespaceKind, text: string): readonly string[] {
  return wordsFor(kind, [process.execPath, '--input-type=module', '-e', text])
}

function wordsFor(kind: NamespaceKind, command: readonly string[]): readonly string[] {
  return ['--pid', '--fork', '--kill-child', ...namespaceKinds[kind], ...command]
}
