/**
 * A generated problem: a world, a request, an expert's scripts, and a goal.
 *
 * Invariants
 * - The right answer is computed here from the world as data, never by running anything.
 * - A question has one right answer; work is right when the watched folder holds exactly what is expected.
 */
import type { Draw } from '../../generated/draw.ts'
import type { Level, Subject } from '../settings.ts'
import { defaultMode, type Snapshot, type World, type WorldFile } from './world.ts'

/** The condition that must hold in the end. */
export type Goal =
  | { readonly kind: 'answer'; readonly answer: string }
  | {
      readonly kind: 'files'
      /** The folder that is watched; whatever else the agent left elsewhere does not matter. */
      readonly below: string
      /** Exactly these files, contents to the byte; modes only where they are given. */
      readonly files: readonly WorldFile[]
      /** Folders that must be there, beside those of files. */
      readonly folders?: readonly string[]
    }
  | { readonly kind: 'processes'; readonly pids: readonly number[] }

/** A problem, complete. */
export interface Problem {
  readonly description: string
  readonly world: World
  /** Scripts that solve it, one a turn; a question is answered by what the last one prints. */
  readonly solution: readonly string[]
  readonly goal: Goal
}

/** A kind of problem. */
export interface ProblemKind {
  readonly name: string
  readonly subject: Subject
  readonly level: Level
  make(draw: Draw): Problem
}

/** Functions that define kinds of problems about one subject, by their level. */
export function kindsAbout(subject: Subject) {
  const at = (level: Level) => (name: string, make: ProblemKind['make']) => ({ name, subject, level, make })
  return { easy: at('easy'), normal: at('normal'), hard: at('hard') } as const
}

/** Whether an answer is right: the same text except for blanks around it, or the same whole number. */
export function isAnswer(given: string, right: string): boolean {
  const text = given.trim()
  if (text === right) return true
  return /^[+-]?\d{1,15}$/.test(text) && /^-?\d{1,15}$/.test(right) && Number(text) === Number(right)
}

/** Whether the machine is as the goal wants it. */
export function isReached(goal: Exclude<Goal, { kind: 'answer' }>, found: Snapshot): boolean {
  if (goal.kind === 'processes') {
    const running = found.processes.map(({ pid }) => pid).sort((left, right) => left - right)
    const wanted = [...goal.pids].sort((left, right) => left - right)
    return running.length === wanted.length && running.every((pid, index) => pid === wanted[index])
  }
  const { entries } = found
  let others = 0
  for (const [path, entry] of entries)
    if (path.startsWith(`${goal.below}/`) && entry.kind !== 'folder') others += 1
  if (others !== goal.files.length) return false
  if (goal.folders?.some((folder) => entries.get(folder)?.kind !== 'folder')) return false
  return goal.files.every(({ path, content, mode }) => {
    const entry = entries.get(path)
    return (
      entry?.kind === 'file' &&
      entry.content === content &&
      (mode === undefined || (entry.mode & 0o7777) === mode)
    )
  })
}

/** A world of files alone. */
export function filesOnly(files: readonly WorldFile[], folders: readonly string[] = []): World {
  return { files, folders, processes: [] }
}

/** The files with what some of them became; undefined takes one away. */
export function changed(
  files: readonly WorldFile[],
  change: (file: WorldFile) => WorldFile | undefined,
): readonly WorldFile[] {
  return files.map(change).filter((file) => file !== undefined)
}

/** Whether the file lies directly in the folder. */
export function isIn(folder: string, { path }: WorldFile): boolean {
  return path.startsWith(`${folder}/`) && !path.slice(folder.length + 1).includes('/')
}

/** The last part of a path. */
export function nameOfFile({ path }: WorldFile): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The mode of a file. */
export function modeOf({ mode }: WorldFile): number {
  return mode ?? defaultMode
}
