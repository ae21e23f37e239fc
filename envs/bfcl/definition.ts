/**
 * BFCL multi-turn: the official simulators and checker, as a held-out suite.
 *
 * Invariants
 * - Everything that is played and graded is the official package's own code, in a process of its own.
 * - Without Python nothing but this suite is missing, and that is said with what to do.
 * - The texts of a version never change: results with one are compared with results with the same.
 * - `none` is the official function-calling mode, which has no system message.
 * - Every setting has a default; empty settings are valid ones.
 */
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import { createForeignSession } from '../bridges/foreign-session.ts'
import { type LineProcess, startLineProcess } from '../bridges/line-process.ts'
import { createProcessPool } from '../bridges/process-pool.ts'
import type {
  Environment,
  EnvironmentDefinition,
  InstanceId,
  Task,
  TaskOptions,
} from '../contract/environment.ts'
import { settingsOf } from '../contract/task-settings.ts'
import { categories, openDataset, packagedDataset } from './dataset.ts'
import { bfclVersion, type Installation, install } from './installation.ts'

export const bfcl: EnvironmentDefinition = {
  name: 'bfcl',
  summary: "Help a user over several turns with the functions of simulated services: BFCL's multi-turn part.",
  source: `Berkeley Function-Calling Leaderboard, v3 and v4 (bfcl-eval ${bfclVersion})`,
  licence: 'Apache-2.0',
  reward: '1 where the official checker finds every turn right, else 0',
  replayable: true,
  replayableBecause: 'the simulators draw from seeds of the instance: the same calls reach the same state',
  // Eight turns of the user at most, each with 21 messages with calls at most, and one that ends it.
  turnLimit: 176,
  open: openBfcl,
}

const driver = fileURLToPath(new URL('./driver', import.meta.url))

/** Longer than the driver's own limits on calls: what misses these hangs. */
const deadlines = { resetMs: 60_000, stepMs: 90_000, closeMs: 5000 }

const startMs = 60_000

/** The prompt of a BFCL conversation, version 1. */
type PromptForm = (typeof promptForms)[number]

/** Settings of the BFCL suite. */
type BfclSettings = z.output<typeof settingsSchema>

async function openBfcl({ dataDir, settings: given, folder, unlimited }: TaskOptions): Promise<Task> {
  const settings = readSettings(given)
  const dataset = dataDir === undefined ? packagedDataset : await openDataset(dataDir)
  let installation: Promise<Installation> | undefined

  async function ready(): Promise<Installation> {
    installation ??= install(folder, settings.python)
    try {
      return await installation
    } catch (fault) {
      // Once the machine has what was missing, the next session finds it.
      installation = undefined
      throw fault
    }
  }

  const pool = createProcessPool(async () =>
    startDriver(await ready(), dataDir, { ...settings, limited: unlimited !== true }),
  )
  return {
    splits: dataset.splits,
    warnings: dataset.warnings,
    instanceAt: dataset.instanceAt,
    async prepare() {
      await ready()
    },
    async create() {
      await ready()
      return namedBySplitToo(createForeignSession(pool, deadlines))
    },
    close: () => pool.close(),
  }
}

/** Starts the driver with the task's settings. */
async function startDriver(
  { python, site }: Installation,
  dataDir: string | undefined,
  { prompt, tools, limited }: BfclSettings & { readonly limited: boolean },
): Promise<LineProcess> {
  const data = path.resolve(dataDir ?? path.join(site, 'bfcl_eval', 'data'))
  const child = startLineProcess({
    command: python,
    // Isolated from the user's own packages; nothing is compiled into the installation.
    args: ['-I', '-B', '-X', 'utf8', driver, site, data],
    // Nothing of this process's environment concerns the simulators; times are printed in the zone's terms.
    env: { PATH: process.env.PATH ?? '', TZ: 'UTC', PYTHONHASHSEED: '0' },
  })
  const settings = { system: systemPrompt(prompt), tools, limited }
  try {
    await child.request('open', { settings }, z.looseObject({}), startMs)
    return child
  } catch (fault) {
    await child.end()
    throw fault
  }
}

/** Instances are named by the question's id, with the split before it or without. */
function namedBySplitToo(session: Environment): Environment {
  const prefix = new RegExp(`^(${categories.join('|')})/(?=multi_turn_\\1_)`)
  return {
    get tools() {
      return session.tools
    },
    reset: (instance: InstanceId) => session.reset(instance.replace(prefix, '')),
    step: (action) => session.step(action),
    close: () => session.close(),
  }
}

/** Forms of the system message. */
const promptForms = ['none', 'short', 'full'] as const

const texts: Record<PromptForm, string> = {
  none: '',
  short: 'Do what the user asks with the tools. When it is done, answer without a call.',
  full: `You help a user over several turns, with tools.
In each turn do all that the user asks, with as many calls as it takes; you may make several calls in one message, and see their results before the next.
Take the values of arguments from the conversation and from results. Where a value or a fitting tool is missing, make no call and say what is missing.
When everything that was asked is done, answer without a call: that ends the turn, and the user may ask for more.`,
}

/** The system message; empty where there is none. */
function systemPrompt(form: PromptForm): string {
  return texts[form]
}

const settingsSchema = z.strictObject({
  prompt: z
    .enum(promptForms)
    .default('short')
    .describe('System message; `none` is the official function-calling mode.'),
  tools: z
    .enum(['official', 'short'])
    .default('official')
    .describe('Descriptions of tools: as published, or without the preface that all tools of a class share.'),
  python: z.string().min(1).optional().describe('Python 3.10 or newer; `python3` by default.'),
})

/** Fills in what is not given. @throws EnvironmentFault bad_settings, naming key and allowed values */
function readSettings(settings: JsonObject | undefined): BfclSettings {
  return settingsOf('bfcl', settingsSchema, settings)
}
