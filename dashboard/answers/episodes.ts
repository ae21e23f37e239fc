/**
 * The table of episodes.
 *
 * Invariants
 * - A filter that was not understood lets nothing through, and says why.
 */
import { outcomes } from '../../learning/evaluation/outcome.ts'
import type { StoredEpisode } from '../../storage/trajectories/episode.ts'
import { type NumberCondition, parseFilter, type Relation } from '../contract/episode-filter.ts'
import type { EpisodeRow, EpisodesAnswer } from '../contract/episodes.ts'
import type { EpisodeStretch, IndexedEpisode } from '../episode-index/episode-index.ts'
import { kindOf } from '../episode-index/filling.ts'
import type { ShownHome } from '../home/shown-home.ts'

/** @param filter in the language of `episode-filter.ts` */
export async function episodesAnswer(
  shown: ShownHome,
  filter: string,
  stretch: EpisodeStretch,
): Promise<EpisodesAnswer> {
  await shown.index.refresh()
  const known = { ...shown.index.known(), outcomes: [...outcomes] }
  const read = parseFilter(filter)
  if ('fault' in read) return { rows: [], total: 0, mark: stretch.mark ?? 0, fault: read.fault, known }
  const parents = new Map<NumberCondition, readonly string[]>()
  for (const term of read.terms)
    if (term.kind === 'number' && term.field === 'update')
      parents.set(term, await consumedGroups(shown, term, known.runs))
  const { rows, total, mark } = shown.index.find(read.terms, stretch, (term) => parents.get(term) ?? [])
  return { rows: await withUpdates(shown, rows), total, mark, known }
}

/** Groups that updates have consumed whose steps fit. */
async function consumedGroups(
  { store }: ShownHome,
  { relation, value }: NumberCondition,
  runs: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = []
  for (const { id } of await store.runs.list()) {
    if (!runs.includes(id)) continue
    const groups = await store.groups.list(id, { consumed: true })
    for (const group of groups)
      if (group.consumedBy !== undefined && holds[relation](group.consumedBy, value)) found.push(group.id)
  }
  return found
}

const holds: Readonly<Record<Relation, (step: number, value: number) => boolean>> = {
  '<': (step, value) => step < value,
  '<=': (step, value) => step <= value,
  '>': (step, value) => step > value,
  '>=': (step, value) => step >= value,
  '=': (step, value) => step === value,
}

/** Rows with the update that consumed each one's group. */
export async function withUpdates(
  { store }: ShownHome,
  rows: readonly IndexedEpisode[],
): Promise<readonly EpisodeRow[]> {
  const updates = new Map<string, number | null>()
  for (const { parent, kind } of rows)
    if (kind === 'group' && !updates.has(parent))
      updates.set(parent, (await store.groups.get(parent as never))?.consumedBy ?? null)
  return rows.map(({ number: _, ...row }) => ({ ...row, update: updates.get(row.parent) ?? null }))
}

/** The row of an episode as the store has it. */
export function episodeRow(episode: StoredEpisode, update: number | null): EpisodeRow {
  const { id, run, parent, sample, attempt, task, instance, created, seal, released } = episode
  const { versionMin = null, versionMax = null } = seal ?? {}
  return {
    episode: id,
    run,
    parent,
    kind: kindOf(parent),
    sample,
    attempt,
    task,
    instance,
    outcome: seal?.outcome ?? null,
    reward: seal?.reward ?? null,
    success: seal?.success ?? false,
    turns: seal?.turns ?? null,
    tokens: seal?.tokens ?? null,
    actionTokens: seal?.actionTokens ?? null,
    versions: versionMin === null || versionMax === null ? null : [versionMin, versionMax],
    update,
    created,
    ended: seal?.ended ?? null,
    kept: released === undefined,
  }
}
