/** Servers that die, freeze and lie, during every kind of request: a named fault within its limit, and never a reward. */
import { afterEach, describe, expect, it } from 'vitest'
import { simulatedClock } from '../../machine/services/clock.testing.ts'
import { withClock } from '../../machine/services/clock.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { type Environment, EnvironmentFault, type Task } from '../contract/environment.ts'
import { type SocketServer, serveSockets } from './base/socket-server.testing.ts'
import { type FaultyServing, faulty, requests } from './faulty-server.testing.ts'
import { remoteEnvironment } from './remote-environment.ts'

let server: SocketServer | undefined
let task: Task | undefined
let session: Environment | undefined
afterEach(async () => {
  await session?.close()
  await task?.close()
  await server?.close()
  session = undefined
  task = undefined
})

const call: AssistantMessage = {
  role: 'assistant',
  content: '',
  tool_calls: [{ name: 'act', arguments: {} }],
}
/** Those of the settings, which are for an episode; a check before has a limit of its own. */
const limits = { resetSeconds: 30, stepSeconds: 20 }
const checkSeconds = 8

interface Case {
  readonly protocol: keyof typeof requests
  readonly request: string
  readonly trick: string
}

const tricks = ['die', 'freeze', 'drip', 'garbage', 'shapeless', 'nothing', 'endless', 'status', 'cut']
/** Tricks in the body of an answer, which a handshake does not have. */
const ofAnswers = ['shapeless', 'nothing', 'endless', 'cut']
const cases = (['openenv', 'agentrl'] as const).flatMap((protocol) =>
  requests[protocol].flatMap((request) =>
    tricks
      .filter((trick) => !(request.startsWith('/ws') && ofAnswers.includes(trick)))
      .map((trick): Case => ({ protocol, request, trick })),
  ),
)

/** Opens the task, begins and plays a turn. */
async function play({ protocol }: Case): Promise<unknown> {
  const path = protocol === 'agentrl' ? '/api' : ''
  const definition = remoteEnvironment(`${protocol}+${server?.url}${path}`, 'it')
  task ??= await definition.open({ settings: limits })
  session ??= await task.create()
  await session.reset('train/0')
  return await session.step(call)
}

/** Plays until it fails; time passes only where the server lets it. @returns the fault, and after how many seconds it came */
async function played(tried: Case, serving: FaultyServing) {
  const clock = simulatedClock()
  const waits = tried.trick === 'freeze' || tried.trick === 'drip'
  const playing = (waits ? withClock(clock, () => play(tried)) : play(tried)).catch((error: unknown) => error)
  if (waits) {
    await Promise.race([serving.asked, playing])
    await clock.advance(60_000)
  }
  return await playing
}

function limitOf({ request }: Case): number {
  if (/step|interact/.test(request)) return limits.stepSeconds
  if (/reset|start_sample/.test(request)) return limits.resetSeconds
  return checkSeconds
}

// [OPENENV-1] [AGENTRL-1] [REMOTE-1] [REMOTE-2] [SOCKET-1]
describe('a server that is asked', () => {
  it.each(cases)('$protocol $request and does $trick is lost by its name', async (tried) => {
    const serving = faulty(tried.request, tried.trick)
    server = await serveSockets(serving)
    const fault = await played(tried, serving)
    if (!(fault instanceof EnvironmentFault)) throw new Error(`no fault: ${String(fault)}`)
    expect(fault.message).toContain(`${tried.protocol}+${server.url}`)
    expect(fault.permanent).toBe(false)
    expect(fault.kind).toMatch(
      /step|interact/.test(tried.request) ? /^session_lost$/ : /^(backend|session_lost)$/,
    )
    if (tried.trick === 'freeze' || tried.trick === 'drip')
      expect(fault.message).toMatch(new RegExp(`within ${limitOf(tried)}(\\.\\d+)? s`))
    if (task === undefined)
      expect(fault.message).toMatch(/; expected (a server of OpenEnv|the \/api of an AgentRL)/)
    await expect(session?.step(call) ?? Promise.reject(fault)).rejects.toThrow(EnvironmentFault)
    serving.repair()
    expect(await play(tried)).toMatchObject({ reward: 1, done: true, outcome: 'completed' })
  })
})
