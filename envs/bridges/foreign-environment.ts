/**
 * An environment of your own in any language: a command that speaks the protocol of `protocol.ts`. Python finds `perdure_env` there,
 * which speaks it (`bridges/python`).
 *
 * ```ts
 * export default foreignEnvironment({
 *   name: 'maze',
 *   summary: 'Find the way out.',
 *   source: 'made here',
 *   licence: 'MIT',
 *   reward: '1 outside, else 0',
 *   replayable: true,
 *   replayableBecause: 'a maze has no randomness',
 *   turnLimit: 20,
 *   command: 'python3',
 *   args: ['maze.py'],
 * })
 * ```
 *
 * Invariants
 * - One process serves one session at a time; processes are kept for the next session.
 * - Instances are named `<split>/<index>`.
 * - A demonstration is played by a process that plays nothing else meanwhile.
 */
import { existsSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { packageRoot } from '../../machine/files/folder.ts'
import type {
  Demonstration,
  EnvironmentDefinition,
  InstanceId,
  Task,
  TaskOptions,
} from '../contract/environment.ts'
import { instanceIn } from '../contract/indexed-splits.ts'
import { createForeignSession, type Deadlines, defaultDeadlines } from './foreign-session.ts'
import { startLineProcess } from './line-process.ts'
import { createProcessPool } from './process-pool.ts'
import { demonstratedSchema, openedSchema } from './protocol.ts'

/** The definition of a foreign environment, and the command that starts it. */
export interface ForeignEnvironment extends Omit<EnvironmentDefinition, 'open'> {
  readonly command: string
  readonly args?: readonly string[]
  readonly cwd?: string
  /** Variables of its environment beside those of this process. */
  readonly env?: Readonly<Record<string, string>>
  readonly deadlines?: Partial<Deadlines>
}

/** How long a process may take to open its data. */
const openMs = 120_000

/** The definition of an environment that a command plays. */
export function foreignEnvironment(foreign: ForeignEnvironment): EnvironmentDefinition {
  const { command, args, cwd, env, deadlines, ...definition } = foreign
  const sources = [...sourcesOf(foreign), ...(foreign.sources ?? [])]
  return { ...definition, sources, open: (options) => openForeign(foreign, options) }
}

/** The folder that the command works in where one is given, and what of the command names a file. */
function sourcesOf({ command, args = [], cwd }: ForeignEnvironment): readonly string[] {
  const words = [command, ...args].map((word) => resolve(cwd ?? '', word))
  return [...words.filter((path) => existsSync(path)), ...(cwd === undefined ? [] : [resolve(cwd)])]
}

async function openForeign(foreign: ForeignEnvironment, options: TaskOptions): Promise<Task> {
  const { name, command, args = [], cwd, env } = foreign
  const deadlines = { ...defaultDeadlines, ...foreign.deadlines }
  const opening = { settings: options.settings ?? {}, dataDir: options.dataDir ?? null }

  async function start() {
    const child = startLineProcess({ command, args, cwd, env: { ...inherited(), ...env } })
    try {
      return { child, opened: await child.request('open', opening, openedSchema, openMs) }
    } catch (fault) {
      await child.end()
      throw fault
    }
  }

  const pool = createProcessPool(async () => (await start()).child)
  // The first process tells the splits and serves the first session.
  const first = await start()
  const splits = first.opened.splits.map(({ name, size }) => ({
    name,
    size: size ?? Number.POSITIVE_INFINITY,
  }))
  await pool.adopt(first.child)

  async function demonstrate(instance: InstanceId): Promise<Demonstration | undefined> {
    const child = await pool.borrow()
    try {
      const { actions } = await child.request(
        'demonstrate',
        { instance },
        demonstratedSchema,
        deadlines.resetMs,
      )
      return actions === null ? undefined : { instance, actions }
    } finally {
      await pool.giveBack(child)
    }
  }

  return {
    splits,
    instanceAt: (split, index) => instanceIn(name, splits, split, index),
    create: async () => createForeignSession(pool, deadlines),
    ...(first.opened.demonstrates ? { demonstrate } : {}),
    close: () => pool.close(),
  }
}

/** The variables of this process, with `perdure_env` among the modules of Python, after those of the user. */
function inherited(): Record<string, string> {
  const own = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  const modules = [own.PYTHONPATH, join(packageRoot, 'bridges', 'python')]
  return { ...own, PYTHONPATH: modules.filter((path) => path !== undefined && path !== '').join(delimiter) }
}
