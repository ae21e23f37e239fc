/**
 * Checks an environment against the contract of environments, from outside: `perdure env check TASK`.
 *
 * Invariants
 * - Every item is tried, whatever the others gave; sessions and connections are gone afterwards.
 * - Nothing but the contract is used: what holds for a task of Perdure holds for one behind a server.
 */
import { isDeepStrictEqual } from 'node:util'
import { EnvironmentFault, type InstanceId, type Task } from '../../envs/contract/environment.ts'
import { reasonOf } from '../../faults/reason.ts'
import type { AssistantMessage, JsonObject, JsonValue, ToolSpec } from '../../messages/message.ts'
import { BrokenPromise, type CheckItem } from './broken-promise.ts'
import { eachInstance } from './each-instance.ts'
import { type CheckedAgent, openKilledAgent } from './killed-agent.ts'
import { lostServerItems, type Reached } from './lost-server.ts'
import { paidBy, played, seenOf, withSession } from './play-through.ts'

/** An item of the contract, and how the environment kept it. */
export interface EnvironmentCheck {
  readonly item: string
  readonly ok: boolean
  /** Figures, or what went wrong. */
  readonly detail: string
}

/** The environment to check. */
export interface EnvironmentCheckOptions {
  /** Opens it with settings beside the user's own. */
  readonly open: (settings?: JsonObject) => Promise<Task>
  /** Its server, where it has one. */
  readonly server?: Reached | undefined
  /** The program that plays it, where one does. */
  readonly agent?: CheckedAgent | undefined
  /** Items with these words alone; absent: all. */
  readonly only?: string | undefined
  /** Receives each item as soon as it was tried. */
  readonly onCheck?: (check: EnvironmentCheck) => void
}

/** Tries every item. Never throws for what the environment does. */
export async function checkEnvironment(
  options: EnvironmentCheckOptions,
): Promise<readonly EnvironmentCheck[]> {
  const checks: EnvironmentCheck[] = []
  const attempt = async ([item, work]: CheckItem): Promise<boolean> => {
    if (!item.includes(options.only ?? '')) return true
    const outcome = await work().then(
      (detail) => ({ ok: true, detail }),
      (error: unknown) => ({ ok: false, detail: reasonOf(error) }),
    )
    const check = { item, ...outcome }
    options.onCheck?.(check)
    checks.push(check)
    return outcome.ok
  }
  let opened: Task | undefined
  try {
    const task = await options.open()
    opened = task
    for (const item of itemsOf(task)) await attempt(item)
    if (options.agent !== undefined) await attemptAgent(task, options.agent, attempt)
  } catch (error) {
    await attempt(['opens', () => Promise.reject(error)])
  } finally {
    await opened?.close()
  }
  if (options.server !== undefined && opened !== undefined)
    for (const item of lostServerItems(options.server)) await attempt(item)
  return checks
}

/** Tries the program at every turn, once it has played. */
async function attemptAgent(
  task: Task,
  agent: CheckedAgent,
  attempt: (item: CheckItem) => Promise<boolean>,
): Promise<void> {
  try {
    await using killed = await openKilledAgent(task, agent)
    if (!(await attempt(killed.undisturbed))) return
    for (const item of await killed.turns()) await attempt(item)
  } catch (error) {
    await attempt(['its agent can be started', () => Promise.reject(error)])
  }
}

/** Instances of each split that are begun. */
const begun = 6
/** Sessions that are opened one after the other; more than most servers have places. */
const sessionsInRow = 24

function itemsOf(task: Task): readonly CheckItem[] {
  const [first] = task.splits
  const split = first?.name ?? ''
  return [
    ['has instances in every split', () => instancesOf(task)],
    ['gives the same answers to the same actions', () => sameAnswers(task, split)],
    ['keeps two sessions apart', () => apart(task, split)],
    ['answers unusable calls as messages', () => answered(task, split)],
    ['pays nothing for doing nothing', () => idle(task)],
    ['has no instance in two splits', () => disjoint(task)],
    ['refuses an unknown instance, and its session continues', () => unknownInstance(task, split)],
    ['frees its sessions', () => freed(task, split)],
    ...(task.demonstrate === undefined
      ? []
      : [['pays its expert', () => demonstrated(task)] satisfies CheckItem]),
    ...eachInstance(task),
  ]
}

async function instancesOf(task: Task): Promise<string> {
  if (task.splits.length === 0) throw new BrokenPromise('it has no split')
  await withSession(task, async (session) => {
    for (const { name, size } of task.splits) {
      if (!(size >= 1)) throw new BrokenPromise(`the split ${name} is empty`)
      const { messages } = await session.reset(task.instanceAt(name, 0))
      if (messages.length === 0 || messages.some(({ content }) => content === ''))
        throw new BrokenPromise(`${task.instanceAt(name, 0)} begins without a text`)
    }
  })
  return task.splits
    .map(({ name, size }) => `${name} ${Number.isFinite(size) ? size : 'without end'}`)
    .join(', ')
}

async function sameAnswers(task: Task, split: string): Promise<string> {
  const instance = task.instanceAt(split, 1)
  const actions = await actionsFor(task, instance)
  const [once, again, other] = await withSession(task, async (session) => {
    const first = await played(session, instance, actions)
    await played(session, task.instanceAt(split, 2), actions)
    return [
      first,
      await played(session, instance, actions),
      await withSession(task, (fresh) => played(fresh, instance, actions)),
    ]
  })
  expectSame(once, again, `${instance} was played twice by one session`)
  expectSame(once, other, `${instance} was played by two sessions`)
  return `${actions.length} actions on ${instance}, three times`
}

async function apart(task: Task, split: string): Promise<string> {
  const instances = [task.instanceAt(split, 1), task.instanceAt(split, 2)] as const
  const actions = await actionsFor(task, instances[0])
  const alone = await Promise.all(
    instances.map((instance) => withSession(task, (session) => played(session, instance, actions))),
  )
  const together = await withSession(task, (one) =>
    withSession(task, async (other) => {
      const sessions = [one, other]
      const seen: unknown[][] = await Promise.all(
        sessions.map(async (session, at) => [seenOf(await session.reset(instances[at] ?? ''))]),
      )
      const isDone = [false, false]
      for (const action of actions)
        for (const [at, session] of sessions.entries()) {
          if (isDone[at]) continue
          const result = await session.step(action)
          seen[at]?.push(seenOf(result))
          isDone[at] = result.done
        }
      return seen
    }),
  )
  for (const [at, instance] of instances.entries())
    expectSame(alone[at], together[at], `${instance} was played alone and beside another session`)
  return `${actions.length} actions by turns`
}

async function answered(task: Task, split: string): Promise<string> {
  const instance = task.instanceAt(split, 1)
  return await withSession(task, async (session) => {
    await session.reset(instance)
    const actions = unusable(session.tools)
    for (const action of actions) {
      const said = JSON.stringify(action.tool_calls)?.slice(0, 80)
      const { messages, reward, done } = await session.step(action).catch((error: unknown) => {
        throw new BrokenPromise(`${said} was answered by a fault: ${reasonOf(error)}`)
      })
      if (reward > 0) throw new BrokenPromise(`${said} was paid ${reward}`)
      if (messages.length === 0 || messages.some(({ content }) => content === ''))
        throw new BrokenPromise(`${said} was answered without a text`)
      if (done) await session.reset(instance)
    }
    return `${actions.length} calls`
  })
}

async function idle(task: Task): Promise<string> {
  await withSession(task, async (session) => {
    for (const { name } of task.splits) {
      await session.reset(task.instanceAt(name, 3))
      for (let turn = 0; turn < 5; turn++) {
        const { reward, done } = await session.step({ role: 'assistant', content: '' })
        if (reward > 0)
          throw new BrokenPromise(`turn ${turn} of ${task.instanceAt(name, 3)} was paid ${reward}`)
        if (done) break
      }
    }
  })
  return '5 turns in every split'
}

/** Two splits that begin and answer alike share their instances, where first turns tell the instances of each apart. */
async function disjoint(task: Task): Promise<string> {
  const splits: { readonly name: string; readonly seen: ReadonlySet<string>; readonly tells: boolean }[] = []
  for (const { name, size } of task.splits) {
    const count = Math.min(begun, size)
    const seen = new Set<string>()
    for (let index = 0; index < count; index++) {
      const instance = task.instanceAt(name, index)
      const actions = await actionsFor(task, instance)
      seen.add(JSON.stringify(await withSession(task, (session) => played(session, instance, actions))))
    }
    const tells = count > 1 && seen.size === count
    for (const before of splits.filter((other) => tells && other.tells))
      if ([...seen].every((each) => before.seen.has(each)))
        throw new BrokenPromise(
          `the first ${count} instances of ${name} begin and answer as some of ${before.name} do`,
        )
    splits.push({ name, seen, tells })
  }
  const untold = splits.filter(({ tells }) => !tells).map(({ name }) => name)
  const names = splits.map(({ name }) => name).join(', ')
  return untold.length === 0
    ? `the first ${begun} of ${names} differ`
    : `by their names: first turns do not tell instances of ${untold.join(', ')} apart`
}

async function unknownInstance(task: Task, split: string): Promise<string> {
  await withSession(task, async (session) => {
    for (const instance of ['', 'nowhere', `${split}/-1`, '../../etc/passwd']) {
      const fault = await session.reset(instance).then(
        () => undefined,
        (error: unknown) => error,
      )
      if (!(fault instanceof EnvironmentFault && fault.kind === 'unknown_instance'))
        throw new BrokenPromise(
          `the instance "${instance}" gave ${fault === undefined ? 'an episode' : reasonOf(fault)}`,
        )
    }
    await session.reset(task.instanceAt(split, 0))
  })
  return '4 names'
}

async function freed(task: Task, split: string): Promise<string> {
  for (let at = 0; at < sessionsInRow; at++)
    await withSession(task, (session) => session.reset(task.instanceAt(split, at)))
  return `${sessionsInRow} sessions in a row`
}

async function demonstrated(task: Task): Promise<string> {
  let count = 0
  for (const { name, size } of task.splits)
    for (let index = 0; index < Math.min(begun, size); index++) {
      const shown = await task.demonstrate?.(task.instanceAt(name, index))
      if (shown === undefined) continue
      const paid = paidBy(
        await withSession(task, (session) => played(session, shown.instance, shown.actions)),
      )
      const wanted = shown.reward ?? 1
      if (Math.abs(paid - wanted) > 1e-9)
        throw new BrokenPromise(`the expert earned ${paid} on ${shown.instance}, expected ${wanted}`)
      count++
    }
  return `${count} demonstrations`
}

/** A call of each tool with arguments of the right types, and what the expert does. */
async function actionsFor(task: Task, instance: InstanceId): Promise<readonly AssistantMessage[]> {
  const shown = await task.demonstrate?.(instance)
  const tools = await withSession(task, async (session) => {
    await session.reset(instance)
    return session.tools
  })
  const tried = tools.slice(0, 3).map(
    ({ function: { name, parameters } }): AssistantMessage => ({
      role: 'assistant',
      content: '',
      tool_calls: [{ name, arguments: exampleOf(parameters) as JsonObject }],
    }),
  )
  // Words come last: they end an episode of some environments.
  return [...tried, ...(shown?.actions.slice(0, 10) ?? []), { role: 'assistant', content: 'Hello.' }]
}

/** A value that a schema allows, as far as its types say. */
function exampleOf(schema: JsonValue | undefined): JsonValue {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return ''
  const { type, enum: values, const: only, properties, anyOf } = schema as JsonObject
  if (only !== undefined) return only
  if (Array.isArray(values)) return (values[0] ?? null) as JsonValue
  if (Array.isArray(anyOf)) return exampleOf(anyOf[0])
  const [kind] = [type].flat()
  if (kind === 'integer' || kind === 'number') return 1
  if (kind === 'boolean') return true
  if (kind === 'array') return []
  if (kind !== 'object') return 'a'
  return Object.fromEntries(
    Object.entries((properties ?? {}) as JsonObject).map(([name, each]) => [name, exampleOf(each)]),
  )
}

/** Messages that no well-meaning agent sends. */
function unusable(tools: readonly ToolSpec[]): readonly AssistantMessage[] {
  const strange = [
    null,
    7,
    {},
    { name: null },
    { name: 'no_such_tool', arguments: {} },
    { name: 'constructor', arguments: {} },
  ]
  const misused = tools.slice(0, 8).flatMap(({ function: { name } }) =>
    [undefined, null, [], 'text', { noSuchArgument: 'x'.repeat(100_000) }].map((given) => ({
      name,
      arguments: given,
    })),
  )
  return [...strange, ...misused].map((call) => ({
    role: 'assistant',
    content: '',
    tool_calls: [call as never],
  }))
}

function expectSame(
  one: readonly unknown[] | undefined,
  other: readonly unknown[] | undefined,
  when: string,
): void {
  const at = (one ?? []).findIndex((seen, turn) => !isDeepStrictEqual(seen, other?.[turn]))
  if (at < 0 && one?.length === other?.length) return
  const shown = (seen: unknown) => JSON.stringify(seen)?.slice(0, 200)
  throw new BrokenPromise(`${when}, and turn ${at} was ${shown(one?.[at])}, then ${shown(other?.[at])}`)
}
