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
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { readText } from '../../machine/files/text-file.ts'
import type { GameSource } from '../../worlds/text-adventure/game.ts'
import { EnvironmentFault } from '../contract/environment.ts'
import {
  emptyFolder,
  inUsualOrder,
  type Library,
  listedLibrary,
  unreadableFolder,
} from '../contract/library.ts'
import { type GameEntry, readCompactSplits } from './dataset-compact.ts'
import { readPublishedSplits } from './dataset-published.ts'

/** The usual order of splits; others follow by name. */
const knownSplits = ['train', 'valid_train', 'valid_seen', 'valid_unseen']

/** Opens a folder of official games. @throws EnvironmentFault bad_data where it holds none */
export async function openDataset(dir: string): Promise<Library<GameSource>> {
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
  const splits = [...inUsualOrder(entries, knownSplits)].map(
    ([split, games]) => [split, inOrder(games)] as const,
  )
  const library = listedLibrary(`alfworld data: ${dir}`, 'game', new Map(splits), warnings)
  return {
    ...library,
    open(instance) {
      const game = library.open(instance).read()
      return { ...game, kind: kindOf(game.id) }
    },
  }
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
  return readText(file).catch((cause: unknown) => {
    throw new EnvironmentFault(
      'bad_data',
      `alfworld data: ${file} cannot be read; the games of *.jsonl.gz need it`,
      { cause },
    )
  })
}

/** The published kind of a game, e.g. `pick_and_place_simple` of `train/pick_and_place_simple-Mug-None-Desk-1/trial_1`. */
function kindOf(id: string): string | undefined {
  return /^[^/]+\/([^-/]+)-/.exec(id)?.[1]
}

function inOrder(games: ReadonlyMap<string, GameEntry>): ReadonlyMap<string, GameEntry> {
  return new Map([...games].sort(([one], [other]) => (one < other ? -1 : 1)))
}
