/**
 * The database task: AgentBench's problems where their data is given, else the built-in ones.
 *
 * Invariants
 * - Both kinds of problems run on the same databases, behind the same tools, under the same rules.
 * - Embedded databases and those of a server answer alike, and are judged alike.
 */

import type { DatabaseBackend, StatementLimits } from '../../worlds/mysql/database.ts'
import { calling } from '../contract/agent-tool.ts'
import type {
  Demonstration,
  EnvironmentDefinition,
  InstanceId,
  Task,
  TaskOptions,
} from '../contract/environment.ts'
import { openBuiltin } from './builtin/library.ts'
import type { Problem } from './builtin/problem.ts'
import { openDataset } from './dataset.ts'
import { openEmbedded } from './embedded/backend.ts'
import { tellOfficially, tellShortly } from './narration.ts'
import { commitTool, createSession, executeTool } from './problem-session.ts'
import { systemPrompt } from './prompt.ts'
import { type DbSettings, readSettings } from './settings.ts'

export const db: EnvironmentDefinition = {
  name: 'db',
  summary: 'Questions about tables and changes to them, by SQL on a database of MySQL’s dialect.',
  source: 'AgentBench dbbench (THUDM/AgentBench); without it built-in problems',
  licence: 'Apache-2.0 (AgentBench); built-in problems Apache-2.0',
  reward: '1 when the answers are right, or the tables’ state is, else 0',
  replayable: true,
  replayableBecause:
    'statements have no randomness or clock of their own: the same ones reach the same state',
  turnLimit: 15,
  open: openDb,
}

/** Bytes of a result that are read at most. */
const resultBytes = 256 * 1024

async function openDb({ dataDir, settings: given, leases }: TaskOptions): Promise<Task> {
  const settings = readSettings(given)
  const limits: StatementLimits = {
    deadlineMs: settings.deadlineSeconds * 1000,
    rows: settings.rows,
    bytes: resultBytes,
  }
  const builtin = dataDir === undefined ? openBuiltin(settings.difficulty) : undefined
  const library = builtin ?? (await openDataset(dataDir ?? ''))
  const backend = await openBackend(settings, limits, leases)
  return {
    splits: library.splits,
    warnings: library.warnings,
    instanceAt: library.instanceAt,
    create: async () =>
      createSession({
        item: library.open,
        backend,
        systemPrompt: systemPrompt(settings.prompt),
        tell: builtin === undefined ? tellOfficially : tellShortly,
      }),
    ...(builtin === undefined
      ? {}
      : { demonstrate: async (instance) => demonstrate(instance, builtin.problem(instance)) }),
    close: () => backend.close(),
  }
}

async function openBackend(
  { url }: DbSettings,
  limits: StatementLimits,
  leases: TaskOptions['leases'],
): Promise<DatabaseBackend> {
  if (url === undefined) return openEmbedded(limits)
  // Users of embedded databases need not wait for the client of servers.
  const { openServer } = await import('./server/backend.ts')
  return openServer(url, limits, leases)
}

/** An expert's episode: a statement a turn, each of which follows from the results before it, then the answers. */
export function demonstrate(
  instance: InstanceId,
  { statements, answers = ['done'] }: Problem,
): Demonstration {
  return {
    instance,
    actions: [
      ...statements.map((query) => calling(executeTool, { query })),
      calling(commitTool, { answers: [...answers] }),
    ],
  }
}
