/**
 * Changes of a run's configuration after it was started: which keys may change, and until when.
 *
 * Invariants
 * - One table has the rule of every key; a key that it does not name may change whenever the run is stopped.
 * - Changes never concern work that a run has already done.
 * - A change is good as a whole or refused as a whole, with each key and why.
 */
import type { RunConfig } from './schema/schema.ts'

/** How far a run has come, as far as changes depend on it. */
export interface RunProgressPoint {
  /** True once the warm start is over and version 0 published. */
  readonly isWarm: boolean
  /** Updates done. */
  readonly step: number
  readonly isDone: boolean
}

/** A key with its value before and after; values that are no single ones as JSON. */
export interface ConfigChange {
  readonly key: string
  readonly from: string | number | boolean | null
  readonly to: string | number | boolean | null
}

/** A change that cannot be made. */
export interface RefusedChange extends ConfigChange {
  /** Why, and what to do. */
  readonly reason: string
}

/** Until when a key may change. */
type Until = 'never' | 'warm'

/** Keys that do not just change; the longest that begins a key counts, and `N` means an index. */
const rules: Readonly<Record<string, { readonly until: Until; readonly because: string }>> = {
  seed: { until: 'never', because: 'all draws of the run derive from it' },
  'tasks.N': {
    until: 'never',
    because: 'what was learnt and counted so far belongs to the tasks as they are',
  },
  'evaluation.suites.N.measure': {
    until: 'never',
    because: 'its evaluations are judged by it',
  },
  policy: { until: 'warm', because: 'the policy has its shape, its tokenizer and its first weights' },
  warmStart: { until: 'warm', because: 'the warm start is over' },
}

/** Parts of those sections that may change all the same: where things lie, how much, how fast. */
const free: ReadonlySet<string> = new Set([
  ...['judge', 'user'].flatMap((role) =>
    ['from', 'apiKey', 'timeoutSeconds', 'tries', 'promptPrice', 'completionPrice'].map(
      (name) => `tasks.N.${role}.${name}`,
    ),
  ),
  'tasks.N.from',
  'tasks.N.data',
  'tasks.N.weight',
  'tasks.N.turnLimit',
  'tasks.N.objective',
  'policy.threads',
  'policy.trainer',
  'policy.trainerStallSeconds',
  'policy.engine',
  'policy.engineUrl',
  'policy.engineApiKey',
  'policy.engineTimeoutSeconds',
])

/** The differences of two configurations, by key. */
export function changesBetween(before: RunConfig, after: RunConfig): readonly ConfigChange[] {
  const found: ConfigChange[] = []
  walk('', before, after, found)
  return found
}

function walk(key: string, before: unknown, after: unknown, found: ConfigChange[]): void {
  if (JSON.stringify(before) === JSON.stringify(after)) return
  if (isTree(before) && isTree(after) && Array.isArray(before) === Array.isArray(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      walk(key === '' ? name : `${key}.${name}`, Reflect.get(before, name), Reflect.get(after, name), found)
    return
  }
  found.push({ key, from: plain(before), to: plain(after) })
}

function isTree(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function plain(value: unknown): ConfigChange['from'] {
  if (value === undefined || value === null) return null
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  return JSON.stringify(value)
}

/** Those of the changes that cannot be made of a run that has come so far. */
export function refusedChanges(
  changes: readonly ConfigChange[],
  now: RunProgressPoint,
): readonly RefusedChange[] {
  return changes.flatMap((change) => {
    const reason = objectionTo(change, now) ?? doneObjection(changes, now)
    return reason === undefined ? [] : [{ ...change, reason }]
  })
}

function objectionTo({ key, to }: ConfigChange, now: RunProgressPoint): string | undefined {
  if (key === 'training.updates' && typeof to === 'number' && to < now.step)
    return `${now.step} updates are done: name at least as many`
  const general = key.replaceAll(/\.\d+(?=\.|$)/g, '.N')
  // A list of single values may change as a whole.
  if (free.has(general) || free.has(general.replace(/\.N$/, ''))) return undefined
  const [, rule] =
    Object.entries(rules)
      .filter(([prefix]) => general === prefix || general.startsWith(`${prefix}.`))
      .sort(([a], [b]) => b.length - a.length)[0] ?? []
  if (rule === undefined) return undefined
  const { until, because } = rule
  return until === 'never' || now.isWarm
    ? `${because}; start another run with it (\`perdure train --set ${key}=…\`)`
    : undefined
}

// Nothing would come of it: a run that is done continues only if there are updates left, or more of its budget.
function doneObjection(changes: readonly ConfigChange[], now: RunProgressPoint): string | undefined {
  const more = changes.find(({ key }) => key === 'training.updates')?.to
  if (!now.isDone || (typeof more === 'number' && more > now.step)) return undefined
  if (changes.some(({ key }) => key.startsWith('training.stop'))) return undefined
  return `the run is done after ${now.step} updates: name more of them too, \`--set training.updates=${now.step + 10}\``
}

/** All keys that the table names, for the documentation and its tests. */
export const ruledKeys: readonly string[] = [...Object.keys(rules), ...free]
