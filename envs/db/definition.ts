/**
 * The database task: AgentBench's problems where their data is given, else the built-in ones.
 *
 * Invariants
 * - Both kinds of problems run on the same databases, behind the same tools, under the same rules.
 * - Embedded databases and those of a server answer alike, and are judged alike.
 * - The texts of a version never change: a policy that was trained on one is evaluated on the same.
 * - A password in a URL is never part of a message.
 */

import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import type { DatabaseBackend, StatementLimits } from '../../worlds/mysql/database.ts'
import { calling } from '../contract/agent-tool.ts'
import type {
  Demonstration,
  EnvironmentDefinition,
  InstanceId,
  Task,
  TaskOptions,
} from '../contract/environment.ts'
import { difficultySetting, promptSetting, settingsOf } from '../contract/task-settings.ts'
import { openBuiltin } from './builtin/library.ts'
import type { Problem } from './builtin/problem.ts'
import { openDataset } from './dataset.ts'
import { openEmbedded } from './embedded/backend.ts'
import { tellOfficially, tellShortly } from './narration.ts'
import { commitTool, createSession, executeTool } from './problem-session.ts'

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

/** Settings of the database task, complete. */
type DbSettings = z.infer<typeof settingsSchema>

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

const short = 'Solve it with execute_sql, then commit_final_answer.'

const full = `You work on a MySQL database to answer a question or to change its data.
In every turn call one tool. execute_sql runs one SQL statement, in one line, and gives you the database's raw answer.
When you are done, call commit_final_answer once: it ends the task.
If values are asked for, "answers" holds exactly these values, one string each, as they stand in the database; where there is none, "none".
If the task is to insert, update or delete, do so by execute_sql first; "answers" may then hold anything.
Put names with blanks or special characters between backticks. Every column holds text; convert where you calculate, compare or sort numbers.
Look at the data before you rely on how it is written. Long results are cut: ask for what you need.`

/** The system message. */
function systemPrompt(form: 'short' | 'full'): string {
  return form === 'short' ? short : full
}

const settingsSchema = z.strictObject({
  url: z
    .string()
    .regex(/^(mysql|mariadb):\/\//, 'expected mysql://USER:PASSWORD@HOST:PORT')
    .optional()
    .describe(
      'MySQL or MariaDB server to use in place of the embedded databases; its user makes databases and users.',
    ),
  difficulty: difficultySetting.describe('Built-in problems: sizes of tables and kinds of questions.'),
  prompt: promptSetting,
  deadlineSeconds: z.number().min(0.01).max(600).default(5).describe('Time that a statement may take.'),
  rows: z.int().min(1).max(100_000).default(1000).describe('Rows of a result that are read at most.'),
})

/** Fills in what is not given. @throws EnvironmentFault bad_settings, naming key and allowed values */
function readSettings(settings: JsonObject | undefined): DbSettings {
  return settingsOf('db', settingsSchema, settings)
}
