/**
 * An environment whose server is away: items of `perdure env check`.
 *
 * Invariants
 * - The server itself is left alone: the way to it is cut.
 */
import { type Environment, EnvironmentFault, type Task } from '../../envs/contract/environment.ts'
import { reasonOf } from '../../faults/reason.ts'
import { clock } from '../../machine/services/clock.ts'
import type { JsonObject } from '../../messages/message.ts'
import { BrokenPromise, type CheckItem } from './broken-promise.ts'
import { type Relay, startRelay } from './relay.ts'

/** A server, and how its environment is opened at another place. */
export interface Reached {
  readonly host: string
  readonly port: number
  /** @param port of this machine, in the place of the server's */
  readonly openAt: (port: number, settings: JsonObject) => Promise<Task>
}

/** Seconds within which a lost server has to be noticed. */
const noticedSeconds = 60
/** Limits that make the check quick; the default is the one that users have. */
const settings = { resetSeconds: 5, stepSeconds: 5 }

/** The items. */
export function lostServerItems(server: Reached): readonly CheckItem[] {
  return [
    [
      'loses the episode when its server is killed, and plays again when it is back',
      () => lost(server, 'kill'),
    ],
    [
      'loses the episode when its server freezes, and plays again when it is back',
      () => lost(server, 'freeze'),
    ],
  ]
}

async function lost({ host, port, openAt }: Reached, how: 'kill' | 'freeze'): Promise<string> {
  const relay = await startRelay(host, port)
  let task: Task | undefined
  let session: Environment | undefined
  try {
    task = await openAt(relay.port, settings)
    const instance = task.instanceAt(task.splits[0]?.name ?? '', 0)
    session = await task.create()
    await session.reset(instance)
    await relay[how]()
    const seconds = await faultOf(session)
    await again(relay)
    await session.reset(instance)
    return `noticed after ${seconds.toFixed(1)} s`
  } finally {
    await relay.close()
    await session?.close()
    await task?.close()
  }
}

async function again(relay: Relay): Promise<void> {
  await relay.kill()
  await relay.revive()
}

/** A call of a tool, which must reach the server. @returns seconds until its fault */
async function faultOf(session: Environment): Promise<number> {
  const began = clock.monotonic()
  const [tool] = session.tools
  const calls = tool === undefined ? [] : [{ name: tool.function.name, arguments: {} }]
  const answer = await session.step({ role: 'assistant', content: 'Hello.', tool_calls: calls }).then(
    (result) => result,
    (error: unknown) => error,
  )
  const seconds = (clock.monotonic() - began) / 1000
  if (!(answer instanceof EnvironmentFault))
    throw new BrokenPromise(
      answer instanceof Error
        ? `it threw what is no fault of an environment: ${reasonOf(answer)}`
        : 'it answered as if nothing had happened',
    )
  if (answer.permanent)
    throw new BrokenPromise(`its fault is permanent, and another try could help: ${answer.message}`)
  if (seconds > noticedSeconds)
    throw new BrokenPromise(`it took ${seconds.toFixed(0)} s, expected ${noticedSeconds} at most`)
  return seconds
}
