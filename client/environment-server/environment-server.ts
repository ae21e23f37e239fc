/**
 * Tasks behind the protocol of AgentRL's controllers, for agentrl-eval, agentrl-worker and other trainers.
 *
 * Invariants
 * - [ENVIRONMENT-SERVER-1] It listens on loopback, or asks for a token.
 */
import { type Context, Hono } from 'hono'
import { z } from 'zod'
import { limitedBody } from '../../machine/network/body-limit.ts'
import {
  hostToListenOn,
  knockOf,
  type ListeningPlace,
  notAvailable,
  objectionTo,
} from '../../machine/network/listening.ts'
import { listenAt } from '../../policy/endpoint/endpoint.ts'
import { Controller, type ControllerOptions } from './controller.ts'
import { ControllerFault } from './controller-session.ts'
import { heartbeatSchema } from './worker-session.ts'

/** Tasks, and where to listen. */
export interface EnvironmentServerOptions extends ControllerOptions, ListeningPlace {
  /** 0 takes any free one. */
  readonly port: number
}

export interface EnvironmentServer {
  /** Base URL for clients: `http://127.0.0.1:5020/api`. */
  readonly url: string
  close(): Promise<void>
}

const largestRequest = 16 * 1024 * 1024
const index = z.union([z.int(), z.string()])
const startSchema = z.object({ name: z.string(), index, custom_task: z.unknown().optional() })
const interactSchema = z.object({ messages: z.array(z.unknown()) })

/** Serves until it is closed; the tasks stay open. @throws ListeningFault */
export async function serveEnvironments(options: EnvironmentServerOptions): Promise<EnvironmentServer> {
  const place = { ...options, host: hostToListenOn(options, '--host', 'PERDURE_ENV_TOKEN') }
  const controller = new Controller(options)
  try {
    const listening = await listenAt(createApp(controller, place), place)
    return {
      url: `${listening.root}/api`,
      async close() {
        await controller.close()
        await listening.close()
      },
    }
  } catch (error) {
    await controller.close()
    throw notAvailable(error, '--port', options.port)
  }
}

function createApp(controller: Controller, place: ListeningPlace): Hono {
  const app = new Hono()
  const refused = (context: Context, status: 400 | 403 | 404 | 413 | 502, detail: string) =>
    context.json({ detail }, status)
  app.use(async (context, next) => {
    const objection = objectionTo(
      knockOf(context.req.method, (name) => context.req.header(name)),
      place,
    )
    // No page can send this header without asking first; clients cancel with it, and without a body.
    const isCancel = objection === 'not_json' && context.req.header('session_id') !== undefined
    if (objection !== undefined && !isCancel) return refused(context, 403, `refused: ${objection}`)
    return await next()
  })
  app.use(
    limitedBody(largestRequest, (context) => refused(context, 413, `more than ${largestRequest} bytes`)),
  )
  app.onError((error, context) => {
    if (error instanceof ControllerFault) return refused(context, error.status, error.message)
    if (error instanceof z.ZodError) return refused(context, 400, z.prettifyError(error))
    if (error instanceof SyntaxError) return refused(context, 400, 'the body is no JSON')
    return refused(context, 502, error.message)
  })
  app.get('/api/version', (context) => context.json({ version: 'perdure' }))
  app.get('/api/list_workers', (context) => context.json(controller.workers()))
  app.get('/api/list_sessions', (context) => context.json(controller.sessions()))
  app.get('/api/get_indices', (context) => context.json(controller.indices(context.req.query('name') ?? '')))
  app.post('/api/receive_heartbeat', async (context) => {
    controller.hear(heartbeatSchema.parse(await context.req.json()))
    return context.json({})
  })
  app.post('/api/start_sample', async (context) => {
    const { name, index } = startSchema.parse(await context.req.json())
    const { id, answer } = await controller.start(name, index, context.req.raw.signal)
    return context.json(answer, 200, { session_id: String(id) })
  })
  app.post('/api/interact', async (context) => {
    const { messages } = interactSchema.parse(await context.req.json())
    return context.json(await controller.interact(sessionOf(context), messages))
  })
  app.post('/api/cancel', async (context) => {
    const id = sessionOf(context)
    if (!(await controller.cancel(id))) throw new ControllerFault(400, 'No such session')
    return context.json({ session_id: id })
  })
  app.post('/api/cancel_notice', async (context) => {
    await controller.cancel(sessionOf(context))
    return context.json({})
  })
  return app
}

function sessionOf(context: Context): number {
  return Number(context.req.header('session_id') ?? Number.NaN)
}
