/**
 * A live database problem, worked on through its two tools, which are named and shaped as AgentBench has them.
 *
 * Invariants
 * - The same instance and the same actions give the same messages, rewards and endings.
 * - Every reset has a database of its own; the one before is gone.
 * - Only the right answers, or the right state of the tables, pay; they are judged once, when answers are
 *   committed, outside of what the agent controls.
 */
import type { JsonObject } from '../../messages/message.ts'
import type {
  Cell,
  Database,
  DatabaseBackend,
  StateHash,
  StatementResult,
} from '../../worlds/mysql/database.ts'
import { type AgentTool, fieldsOf, quoted, refused, textTool, toolSpec } from '../contract/agent-tool.ts'
import type { Environment, InstanceId } from '../contract/environment.ts'
import { ToolSession } from '../contract/tool-session.ts'
import { sameAnswers } from './answers.ts'
import type { DbItem } from './item.ts'
import type { Narrator } from './narration.ts'

/** The parts of a session. */
export interface SessionOptions {
  /** @throws EnvironmentFault unknown_instance */
  readonly item: (instance: InstanceId) => DbItem
  readonly backend: DatabaseBackend
  readonly systemPrompt: string
  readonly tell: Narrator
}

/** A problem being worked on. */
interface Play {
  readonly item: DbItem
  readonly database: Database
}

export const executeTool = 'execute_sql'
export const commitTool = 'commit_final_answer'

/** A session that works on one problem after another. */
export function createSession({ item: itemOf, backend, systemPrompt, tell }: SessionOptions): Environment {
  const execute: AgentTool<Play> = textTool({
    name: executeTool,
    description: 'Runs one MySQL statement and returns its result.',
    takes: { query: 'The statement.' },
    misfit: () => `${executeTool} needs "query", a string.`,
    async run({ query }, { database }) {
      const result = await database.execute(query)
      const reply = tell(result)
      return { reply, info: factsOf(result, reply) }
    },
  })
  return new ToolSession<Play>({
    tools: [execute, commitment(backend)],
    unnamed: executeTool,
    noSuchTool: (name) => `There is no tool ${quoted(name)}. Call ${executeTool} or ${commitTool}.`,
    noCall: `Call ${executeTool} or ${commitTool}.`,
    over: 'The task is done.',
    idle: 'no problem is being worked on here',
    async open(instance) {
      const item = itemOf(instance)
      const database = await backend.open(item.tables, item.id)
      return { play: { item, database }, system: systemPrompt, prompt: item.question, kind: item.kind }
    },
    facts: (_, results) => results.at(-1) ?? { rows: [] },
    state: 'calls',
    close: ({ database }) => database.close(),
  })
}

/** The tool that ends the episode and is paid where its answers are right. */
function commitment(backend: DatabaseBackend): AgentTool<Play> {
  const answersSchema = {
    type: 'array',
    items: { type: 'string' },
    description: 'The values asked for; anything if the task was to change the data.',
  }
  return {
    spec: toolSpec(commitTool, 'Commits the final answer and ends the task.', { answers: answersSchema }),
    async call(given, { item, database }) {
      const { answers } = fieldsOf(given)
      if (!isListOfStrings(answers)) return refused(`${commitTool} needs "answers", a list of strings.`)
      const reward = (await isRight(backend, item, database, answers)) ? 1 : 0
      return { reply: 'Committed.', reward, done: true }
    },
  }
}

async function isRight(
  backend: DatabaseBackend,
  item: DbItem,
  database: Database,
  answers: readonly string[],
): Promise<boolean> {
  if (item.goal.kind === 'answer') return sameAnswers(answers, item.goal.answers)
  const hash = await database.stateHash(item.tables)
  return hash !== undefined && hash === (await goalHash(backend, item))
}

/** The hash of the state that is asked for; statements that lead to it are executed in a separate database. */
async function goalHash(
  backend: DatabaseBackend,
  { id, goal, tables }: DbItem,
): Promise<StateHash | undefined> {
  if (goal.kind === 'answer') return undefined
  if (goal.kind === 'state') return goal.hash
  const database = await backend.open(tables, id)
  try {
    for (const statement of goal.statements) await database.execute(statement)
    return await database.stateHash(tables)
  } finally {
    await database.close()
  }
}

function isListOfStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((member) => typeof member === 'string')
}

function factsOf(result: StatementResult, text: string): JsonObject {
  switch (result.kind) {
    case 'rows':
      return {
        rows: result.rows.map((row) => row.map(scalarOf)),
        ...(result.truncated ? { truncated: true } : {}),
      }
    case 'done':
      return { rows: [], affected: result.affected }
    case 'failed':
    case 'timed_out':
      return { error: text }
  }
}

function scalarOf(cell: Cell): string | number | null {
  if (cell === null) return null
  if (cell.kind !== 'integer' && cell.kind !== 'double' && cell.kind !== 'decimal') return cell.text
  const number = Number(cell.text)
  const exact = cell.kind === 'integer' ? Number.isSafeInteger(number) : Number.isFinite(number)
  return exact ? number : cell.text
}
