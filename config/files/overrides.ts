/**
 * `--set key=value`: single values that win over the file.
 *
 * Invariants
 * - Values are read as YAML: `3` is a number, `[a, b]` a list, `"3"` a text.
 * - An empty value puts the default back.
 * - An index may name an entry of a list or the one after the last, never leave a gap.
 * - The given tree is not changed; only own keys are ever read or written.
 */
import { excerpt } from '../../learning/run/wrong-value.ts'
import { ConfigFault } from './fault.ts'
import { endlessness, isTree, type Tree } from './tree.ts'
import { readYaml } from './yaml-text.ts'

/** A key with its value, as given on the command line. */
export interface Override {
  readonly path: readonly (string | number)[]
  readonly value: unknown
  /** The text as given. */
  readonly text: string
}

/** The place of an override, in words. */
export function overridePlace(text: string): string {
  return `--set ${excerpt(text)}`
}

function fault(text: string, key: string, allowed: string, cause?: unknown): ConfigFault {
  const where = overridePlace(text)
  const message = `${where}: expected ${allowed}`
  return new ConfigFault('bad_override', [{ key, value: undefined, allowed, where, message }], { cause })
}

/**
 * Reads `a.b.0.c=value`.
 * @throws ConfigFault no `=`, no key, or a value that is no YAML
 * @example parseOverride('rollout.groupSize=4') // { path: ['rollout', 'groupSize'], value: 4, … }
 */
export function parseOverride(text: string): Override {
  const equals = text.indexOf('=')
  const key = text.slice(0, equals).trim()
  if (equals < 1 || key === '') throw fault(text, '', 'KEY=VALUE, for example rollout.groupSize=4')
  const segments = key.split('.')
  if (segments.some((segment) => segment === '' || segment === '__proto__'))
    throw fault(text, key, 'keys joined by single dots, for example tasks.0.weight=2')
  const path = segments.map((segment) => (/^\d+$/.test(segment) ? Number(segment) : segment))
  let value: unknown
  try {
    value = readYaml(text.slice(equals + 1)).value
  } catch (cause) {
    const reason = cause instanceof Error ? ` (${cause.message})` : ''
    throw fault(text, key, `a value in YAML; quote texts that hold special characters${reason}`, cause)
  }
  const endless = endlessness(value)
  if (endless !== undefined)
    throw fault(text, [key, ...endless.path].join('.'), `${endless.allowed}: the value ${endless.wrong}`)
  return { path, value, text }
}

function childOf(tree: Tree, part: string | number): unknown {
  return Object.hasOwn(tree, part) ? Reflect.get(tree, part) : undefined
}

/**
 * The tree with one value replaced.
 * @throws ConfigFault an index that leaves a gap, or a key where there is a list
 */
export function withOverride(tree: Tree, override: Override): Tree {
  const copy: Tree = structuredClone(tree)
  let at: Tree = copy
  for (const [depth, part] of override.path.entries()) {
    const key = override.path.slice(0, depth + 1).join('.')
    if (Array.isArray(at) && (typeof part !== 'number' || part > at.length))
      throw fault(
        override.text,
        key,
        `an index from 0 to ${at.length} in \`${override.path.slice(0, depth).join('.')}\``,
      )
    if (depth === override.path.length - 1) {
      assign(at, part, override.value)
      break
    }
    let next = childOf(at, part)
    if (!isTree(next)) {
      next = typeof override.path[depth + 1] === 'number' ? [] : {}
      assign(at, part, next)
    }
    at = next as Tree
  }
  return copy
}

function assign(tree: Tree, part: string | number, value: unknown): void {
  if (value === null || value === undefined) {
    if (Array.isArray(tree)) tree.splice(Number(part), 1)
    else Reflect.deleteProperty(tree, part)
  } else {
    Reflect.set(tree, part, value)
  }
}
