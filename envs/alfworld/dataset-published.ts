/**
 * Official games in the published layout: a folder per trial, a JSON file per game.
 *
 * Invariants
 * - Only games marked solvable are offered, as by the official loader.
 * - All games have the same grammar text: the task is taken out of it.
 */
import { open, readdir } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { systemFailureOf } from '../../faults/system-error.ts'
import { readText, readTextSync, TextFault } from '../../machine/files/text-file.ts'
import type { GameSource } from '../../worlds/text-adventure/game.ts'
import { taskPlaceholder } from '../../worlds/text-adventure/grammar.ts'
import { EnvironmentFault } from '../contract/environment.ts'
import type { GameEntry } from './dataset-compact.ts'

const gameFile = z.object({
  pddl_domain: z.string(),
  grammar: z.string(),
  pddl_problem: z.string(),
  walkthrough: z.array(z.string()).nullish(),
  solvable: z.boolean().optional(),
})

/** Files looked at together while a folder is opened. */
const filesAtOnce = 32

/** The games under `root/<split>/<task>/<trial>`; those that cannot be used are added to `warnings`. */
export async function* readPublishedSplits(root: string, warnings: string[]): AsyncIterable<GameEntry> {
  const found: { readonly id: string; readonly file: string }[] = []
  for (const split of await foldersIn(root)) {
    for (const task of await foldersIn(path.join(root, split))) {
      if (task.includes('movable') || task.includes('Sliced')) continue
      for (const trial of await foldersIn(path.join(root, split, task)))
        found.push({
          id: `${split}/${task}/${trial}`,
          file: path.join(root, split, task, trial, 'game.tw-pddl'),
        })
    }
  }
  for (let at = 0; at < found.length; at += filesAtOnce) {
    const batch = found.slice(at, at + filesAtOnce)
    const fits = await Promise.all(batch.map(({ file }) => usable(file)))
    for (const [index, { id, file }] of batch.entries()) {
      const fit = fits[index]
      if (fit === true) yield { id, read: () => readGame(id, file) }
      else if (fit !== false) warnings.push(`${file} is left out: ${fit}`)
    }
  }
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink()).map(({ name }) => name)
}

/** Whether a file holds a game to play (no trial has to have one), or what is wrong with it. */
async function usable(file: string): Promise<string | boolean> {
  try {
    // The mark is the last key of the published files, so their end tells.
    const mark = /"solvable": ?(true|false)\s*\}\s*$/.exec(await endOf(file))
    if (mark !== null) return mark[1] === 'true'
    const read = gameFile.safeParse(JSON.parse(await readText(file)))
    if (!read.success) return 'it is no game of ALFWorld'
    return read.data.solvable ?? 'it does not say whether it is solvable'
  } catch (cause) {
    if (['missing', 'not_a_directory'].includes(systemFailureOf(cause))) return false
    if (cause instanceof TextFault) return cause.message
    return cause instanceof SyntaxError ? 'it is cut short or no JSON' : String(cause)
  }
}

async function endOf(file: string): Promise<string> {
  await using handle = await open(file)
  const { size } = await handle.stat()
  const buffer = Buffer.alloc(64)
  const { bytesRead } = await handle.read({ buffer, position: Math.max(0, size - 64) })
  return buffer.toString('utf8', 0, bytesRead)
}

const taskRule = /("task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*)("(?:[^"\\]|\\.)*")/

function readGame(id: string, file: string): GameSource {
  try {
    const { pddl_domain, grammar, pddl_problem, walkthrough } = gameFile.parse(JSON.parse(readTextSync(file)))
    const task = taskRule.exec(grammar)?.[2]
    return {
      id,
      domain: pddl_domain,
      grammar: grammar.replace(taskRule, (_, start: string) => `${start}"${taskPlaceholder}"`),
      problem: pddl_problem,
      task: task === undefined ? '' : z.string().parse(JSON.parse(task)),
      walkthrough: walkthrough ?? undefined,
    }
  } catch (cause) {
    throw new EnvironmentFault('bad_data', `alfworld data: ${file} is no game; get the file again`, { cause })
  }
}
