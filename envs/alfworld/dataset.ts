/**
 * Official ALFWorld games from a folder: the published layout, or the compact one.
 *
 * - Published: `[json_…/]<split>/<task>/<trial>/game.tw-pddl`, a JSON file per game.
 * - Compact: `domain.pddl` and `grammar.twl2` for all games, `<split>.jsonl.gz` with a game per line.
 *
 * Invariants
 * - An id is `<split>/<task>/<trial>` in both layouts, and the games of a split are in the order of their ids.
 * - A file or line that cannot be used is named in `warnings` and left out; the rest is offered.
 * - Games that the official loader leaves out (movable receptacles, sliced objects, unsolvable) are left out
 *   without a warning.
 * - A game's own texts are read when it is asked for.
 */
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { EnvironmentFault, type InstanceId, type Split } from '../environment.ts'
import { emptyFolder, inUsualOrder, listedInstances, unreadableFolder } from '../listed-instances.ts'
import { type GameEntry, readCompactSplits } from './dataset-compact.ts'
import { readPublishedSplits } from './dataset-published.ts'
import type { GameSource } from './engine/game.ts'

/** Games by split and id. */
export interface AlfworldDataset {
  readonly splits: readonly Split[]
  /** What was left out, each with its file. */
  readonly warnings: readonly string[]
  /** The index-th id of a split, modulo its size. @throws EnvironmentFault unknown_split */
  instanceAt(split: string, index: number): InstanceId
  /** Reads a game. @throws EnvironmentFault unknown_instance, or bad_data naming the file */
  source(instance: InstanceId): GameSource
}

/** The usual order of splits; others follow by name. */
const knownSplits = ['train', 'valid_train', 'valid_seen', 'valid_unseen']

/** Opens a folder of official games. @throws EnvironmentFault bad_data where it holds none */
export async function openDataset(dir: string): Promise<AlfworldDataset> {
  const warnings: string[] = []
  const names = await readdir(dir).catch(unreadableFolder('alfworld', dir))
  const entries = new Map<string, Map<string, GameEntry>>()
  for await (const entry of allEntries(dir, names, warnings)) {
    const split = entry.id.slice(0, entry.id.indexOf('/'))
    const games = entries.get(split) ?? new Map<string, GameEntry>()
    if (games.has(entry.id)) warnings.push(`${entry.id} is in ${dir} twice: the first one is used`)
    else games.set(entry.id, entry)
    entries.set(split, games)
  }
  if (entries.size === 0) {
    const expected = '<split>/<task>/<trial>/game.tw-pddl or <split>.jsonl.gz'
    throw emptyFolder('alfworld', dir, { what: 'games', expected, warnings })
  }
  return datasetOf(dir, inUsualOrder(entries, knownSplits), warnings)
}

async function* allEntries(
  dir: string,
  names: readonly string[],
  warnings: string[],
): AsyncIterable<GameEntry> {
  const compact = names.filter((name) => name.endsWith('.jsonl.gz'))
  if (compact.length > 0) {
    const domain = await sharedText(dir, 'domain.pddl')
    const grammar = await sharedText(dir, 'grammar.twl2')
    yield* readCompactSplits(
      compact.sort().map((name) => path.join(dir, name)),
      { domain, grammar },
      warnings,
    )
  }
  for (const name of ['', ...names.filter((name) => name.startsWith('json_')).sort()])
    yield* readPublishedSplits(path.join(dir, name), warnings)
}

async function sharedText(dir: string, name: string): Promise<string> {
  const file = path.join(dir, name)
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw new EnvironmentFault(
      'bad_data',
      `alfworld data: ${file} cannot be read; the games of *.jsonl.gz need it`,
      { cause },
    )
  })
}

function datasetOf(
  dir: string,
  entries: ReadonlyMap<string, ReadonlyMap<string, GameEntry>>,
  warnings: readonly string[],
): AlfworldDataset {
  const ids = new Map([...entries].map(([split, games]) => [split, [...games.keys()].sort()]))
  const { splits, instanceAt, unknown } = listedInstances(`alfworld data: ${dir}`, 'game', ids)
  return {
    splits,
    warnings,
    instanceAt,
    source(instance) {
      const split = instance.slice(0, Math.max(0, instance.indexOf('/')))
      const entry = entries.get(split)?.get(instance)
      if (entry === undefined) throw unknown(instance)
      return entry.read()
    },
  }
}
