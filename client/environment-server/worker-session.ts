/**
 * A session of a worker elsewhere (agentrl-worker 0.4), passed on to it.
 *
 * Invariants
 * - A worker that does not answer, or answers in another form, has lost the session: "task error", without a reward.
 */
import { z } from 'zod'
import { deadlineSignal } from '../../machine/services/clock.ts'
import {
  type ControllerAnswer,
  ControllerFault,
  type ControllerSession,
  taskError,
} from './controller-session.ts'

/** A worker's report of itself, every 8 seconds. */
export const heartbeatSchema = z.object({
  name: z.string().min(1).max(200),
  address: z.url({ protocol: /^https?$/ }).max(2000),
  concurrency: z.int().min(1),
  indices: z.array(z.union([z.int(), z.string()])).max(1_000_000),
})
export type Heartbeat = z.output<typeof heartbeatSchema>

/** A step of a worker may build what it needs first; clients have limits of their own. */
const answerMs = 600_000
const cancelMs = 10_000

const answerSchema = z.object({
  messages: z.array(z.looseObject({})),
  tools: z.array(z.looseObject({})).nullish(),
  status: z.string(),
  finish: z.boolean(),
  reward: z.number(),
  metric: z.record(z.string(), z.unknown()).nullish(),
})

/** Begins one. @throws ControllerFault where the worker refuses it */
export async function beginAtWorker(
  { name, address }: Heartbeat,
  index: number | string,
  id: number,
): Promise<{ readonly session: ControllerSession; readonly answer: ControllerAnswer }> {
  const ask = async (path: string, body: object, withinMs: number): Promise<unknown> => {
    const response = await fetch(`${address.replace(/\/+$/, '')}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ session_id: id, ...body }),
      signal: deadlineSignal(withinMs),
    })
    if (response.ok) return await response.json()
    throw new ControllerFault(response.status < 500 ? 400 : 502, (await response.text()).slice(0, 1000))
  }
  const answering = async (work: () => Promise<unknown>): Promise<ControllerAnswer> => {
    try {
      return answerOf(await work())
    } catch (fault) {
      if (fault instanceof ControllerFault) throw fault
      return taskError
    }
  }
  const answer = await answering(() => ask('start_sample', { index, custom_task: null }, answerMs))
  let isOver = answer.finish
  const session: ControllerSession = {
    task: name,
    index,
    async interact(messages) {
      const next = await answering(async () => {
        const said = await ask('interact', { messages }, answerMs)
        return z.object({ env_out: z.unknown() }).parse(said).env_out
      })
      isOver ||= next.finish
      return next
    },
    async close() {
      if (isOver) return
      isOver = true
      // A worker that is gone has no session any more.
      await ask('cancel', {}, cancelMs).catch(() => undefined)
    },
  }
  return { session, answer }
}

/** Clients know no context limit, and say `metrics` where workers say `metric`. */
function answerOf(said: unknown): ControllerAnswer {
  const { messages, tools, status, finish, reward, metric } = answerSchema.parse(said)
  return {
    ...{ messages, tools: tools ?? null, finish, reward, metrics: metric ?? {} },
    status: status === 'agent context limit' ? 'task limit reached' : status,
  }
}
