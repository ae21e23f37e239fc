/**
 * A task whose sessions are played on MCP servers.
 *
 * Invariants
 * - [MCP-TASK-1] Each episode has a server process and an empty folder of its own, or a session of its own at an address.
 * - [MCP-TASK-2] A message without a call ends the episode. It is graded after its server has ended, from the folder and the calls; a
 *   server that was lost before is no reward.
 */
import { availableParallelism } from 'node:os'
import type { z } from 'zod'
import { type Answer, fieldsOf } from '../contract/agent-tool.ts'
import { checkReward, type Task, type TaskOptions } from '../contract/environment.ts'
import { instanceIn } from '../contract/indexed-splits.ts'
import { needPackages } from '../contract/optional-package.ts'
import type { Ask } from '../contract/question.ts'
import { type SessionRules, ToolSession } from '../contract/tool-session.ts'
import type { FirstWords } from '../external/definition.ts'
import { type ExpertTurn, playExpert } from '../external/expert-play.ts'
import { openInstances } from '../external/instances.ts'
import type { McpEnvironment } from './mcp-definition.ts'
import { type McpPlay, mcpTools } from './mcp-tools.ts'
import { ServerPool } from './server-pool.ts'
import { serverStart } from './server-start.ts'

/** A definition whose limits are known. */
type Definition<State extends FirstWords, Item, Settings extends z.ZodObject> = McpEnvironment<
  State,
  Item,
  Settings
> & {
  readonly startSeconds: number
  readonly callSeconds: number
  readonly startedAhead: number
  readonly turnLimit: number
}

/** Opens the task, which shows that a server can be started and has the tools. @throws EnvironmentFault */
export async function openMcpTask<State extends FirstWords, Item, Settings extends z.ZodObject>(
  name: string,
  definition: Definition<State, Item, Settings>,
  options: TaskOptions,
): Promise<Task> {
  needPackages(name, '@modelcontextprotocol/sdk')
  const { server, startSeconds, callSeconds, startedAhead, expert, turnLimit, replayable } = definition
  const { splits, startOf } = await openInstances(name, definition, options)
  const starts = await serverStart(name, server, startSeconds * 1000, options)
  const isProgram = 'command' in server
  const pool = new ServerPool((signal) => starts.start(signal), {
    ahead: isProgram ? startedAhead : 0,
    // A session at an address takes no processor of this machine.
    starting: isProgram ? availableParallelism() + 1 : Number.POSITIVE_INFINITY,
  })
  const close = async () => {
    await pool.close()
    await starts.close()
  }
  const tools = await offered().catch(async (fault: unknown) => {
    await close()
    throw fault
  })
  const advice = tools.length === 0 ? 'Answer in words.' : `Call ${listed(tools)}, or end with an answer.`
  const rules: SessionRules<McpPlay<State>> = {
    tools,
    unnamed: 'error',
    noSuchTool: () => `There is no such tool. ${advice}`,
    noCall: (content, play, ask) => graded(name, definition, play, content, ask),
    over: 'The episode is over.',
    idle: `no episode of ${name} is being played here`,
    async open(instance, ask) {
      const begin = startOf(instance, ask)
      const taken = await pool.take()
      try {
        const state = await definition.start({ ...begin, files: taken.folder })
        const { system, prompt, kind } = state
        const play = { server: taken, state, calls: [] }
        return { play, system, prompt, ...(typeof kind === 'string' ? { kind } : {}) }
      } catch (cause) {
        await taken.end()
        throw cause
      }
    },
    facts: (_, facts) => Object.assign({}, ...facts),
    state: replayable === true ? 'calls' : undefined,
    close: ({ server: played }) => played.end(),
  }

  async function offered() {
    const first = await pool.take()
    const found = await first.connection.tools(startSeconds * 1000)
    await pool.putBack(first)
    return mcpTools(starts.shown, found, definition.tools, callSeconds * 1000)
  }

  return {
    splits,
    instanceAt: (split, index) => instanceIn(name, splits, split, index),
    create: async (ask) => new ToolSession(rules, ask),
    ...(expert === undefined
      ? {}
      : {
          demonstrate: (instance) => {
            const session = new ToolSession(rules)
            return playExpert(session, instance, () => ended(expert(session.play.state)), turnLimit)
          },
        }),
    close,
  }
}

/** Ends the episode and pays for it. @throws EnvironmentFault `session_lost`, `bad_data` */
async function graded<State extends FirstWords, Item, Settings extends z.ZodObject>(
  name: string,
  definition: Definition<State, Item, Settings>,
  { server, state, calls }: McpPlay<State>,
  content: unknown,
  ask: Ask,
): Promise<Answer> {
  const { connection, folder: files } = server
  await connection.check(definition.callSeconds * 1000)
  await connection.close()
  const answer = typeof content === 'string' ? content : ''
  const grade: unknown = await definition.grade({ state, answer, calls, files, ask })
  const { reward, info } = typeof grade === 'number' ? { reward: grade } : fieldsOf(grade)
  checkReward(`the grader of ${name}`, reward)
  return {
    reply: 'The episode is over.',
    done: true,
    reward: reward as number,
    ...(info === undefined ? {} : { info: info as never }),
  }
}

/** An expert that has no more to do says so. */
function* ended(turns: Iterator<ExpertTurn, void, string>): Generator<ExpertTurn, void, string> {
  let reply = ''
  for (let turn = turns.next(reply); turn.done !== true; turn = turns.next(reply)) reply = yield turn.value
  yield 'Done.'
}

function listed(
  tools: readonly { readonly spec: { readonly function: { readonly name: string } } }[],
): string {
  const names = tools.map(({ spec }) => spec.function.name).join(', ')
  return tools.length === 1 ? `the tool ${names}` : `one of the tools ${names}`
}
