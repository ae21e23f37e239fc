/**
 * Replay: recorded actions in, what the environment answered out, one JSON line for each line.
 *
 * Invariants
 * - Every line of input is answered by one line of output, in order, so that the n-th answers the n-th.
 * - A line that cannot be replayed is answered by its error, and the rest is still replayed.
 * - The first step is the reset; an episode ends at its end, what follows it is not played.
 * - Lines are held one at a time, so memory does not grow with the input.
 */
import { z } from 'zod'
import { reasonOf } from '../../faults/reason.ts'
import { partOf, readExactly, withExactArguments } from '../../messages/exact-arguments.ts'
import type { AssistantMessage, JsonObject, Message } from '../../messages/message.ts'
import {
  type Environment,
  EnvironmentFault,
  type InstanceId,
  type StepResult,
  type Task,
} from './environment.ts'

const lineSchema = z.object({
  instance: z.string(),
  // The agent decides what a message holds: an environment answers the impossible in words.
  actions: z.array(z.looseObject({})),
})

/**
 * The lines of a byte stream in UTF-8. Only line feeds end a line: the other separators that Unicode
 * knows may be inside a JSON text.
 */
export async function* linesOf(input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let parts: string[] = []
  for await (const chunk of input) {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    const pieces = text.split('\n')
    for (const piece of pieces.slice(0, -1)) {
      parts.push(piece)
      yield parts.join('')
      parts = []
    }
    parts.push(pieces.at(-1) ?? '')
  }
  const rest = parts.join('') + decoder.decode()
  if (rest !== '') yield rest
}

/**
 * How instances are named where a split is given: with the split or without, but not of another split.
 * @throws EnvironmentFault unknown_split
 */
export function resolverFor(task: Task, split: string | undefined): (instance: string) => InstanceId {
  if (split === undefined) return (instance) => instance
  const known = task.splits.map(({ name }) => name)
  if (!known.includes(split))
    throw new EnvironmentFault('unknown_split', `there is no split "${split}": use ${known.join(', ')}`)
  return (instance) => {
    const named = known.find((name) => instance.startsWith(`${name}/`))
    if (named !== undefined && named !== split)
      throw new EnvironmentFault('unknown_instance', `"${instance}" is not of the split "${split}"`)
    return named === undefined ? `${split}/${instance}` : instance
  }
}

/** One answered step. */
export interface ReplayedStep {
  readonly messages: readonly Message[]
  readonly reward: number
  readonly done: boolean
  readonly outcome?: string
  readonly info: JsonObject
}

/** One answered line. */
export type ReplayedLine =
  | {
      readonly instance: InstanceId
      /** null where the actions end before the episode does. */
      readonly outcome: string | null
      readonly reward: number
      readonly steps: readonly ReplayedStep[]
    }
  | { readonly instance: InstanceId | null; readonly error: string }

/**
 * Replays lines of JSON.
 * @param lines   texts without their line ends
 * @param resolve the id of a line's instance
 */
export async function* replayLines(
  task: Task,
  lines: AsyncIterable<string>,
  resolve: (instance: string) => InstanceId = (instance) => instance,
): AsyncGenerator<ReplayedLine> {
  let environment: Environment | undefined
  try {
    for await (const line of lines) {
      const { instance, actions, error } = readLine(line)
      if (error !== undefined) {
        yield { instance, error }
        continue
      }
      try {
        environment ??= await task.create()
        yield await replayEpisode(environment, instance, resolve(instance), actions)
      } catch (cause) {
        yield { instance, error: reasonOf(cause) }
        // An environment that failed once is not trusted with the next line.
        await environment?.close().catch(() => {})
        environment = undefined
      }
    }
  } finally {
    await environment?.close()
  }
}

async function replayEpisode(
  environment: Environment,
  name: string,
  instance: InstanceId,
  actions: readonly AssistantMessage[],
): Promise<ReplayedLine> {
  const { messages, info } = await environment.reset(instance)
  const steps: ReplayedStep[] = [{ messages, reward: 0, done: false, info }]
  let reward = 0
  let last: StepResult | undefined
  for (const action of actions) {
    last = await environment.step(action)
    reward += last.reward
    const { outcome } = last
    steps.push({
      messages: last.messages,
      reward: last.reward,
      done: last.done,
      ...(outcome === undefined ? {} : { outcome }),
      info: last.info,
    })
    if (last.done) break
  }
  return { instance: name, outcome: last?.outcome ?? null, reward, steps }
}

type LineReading =
  | { readonly instance: string; readonly actions: readonly AssistantMessage[]; readonly error?: undefined }
  | { readonly instance: string | null; readonly actions?: undefined; readonly error: string }

function readLine(line: string): LineReading {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (cause) {
    return { instance: null, error: `no JSON: ${reasonOf(cause)}` }
  }
  const result = lineSchema.safeParse(value)
  if (!result.success) {
    const named = z.object({ instance: z.string() }).safeParse(value)
    return {
      instance: named.success ? named.data.instance : null,
      error: `expected {"instance": ID, "actions": [{"content"?, "tool_calls"?}, …]}: ${z.prettifyError(result.error).replaceAll('\n', ' ')}`,
    }
  }
  const { instance, actions } = result.data
  const exact = readExactly(line)
  return {
    instance,
    actions: actions.map(({ content, tool_calls }, turn) => ({
      role: 'assistant',
      content: typeof content === 'string' ? content : '',
      // The shape is checked where the call is answered, by the environment.
      ...(Array.isArray(tool_calls)
        ? {
            tool_calls: (tool_calls as NonNullable<AssistantMessage['tool_calls']>).map((call, at) =>
              withExactArguments(call, partOf(exact, 'actions', turn, 'tool_calls', at, 'arguments')),
            ),
          }
        : {}),
    })),
  }
}
