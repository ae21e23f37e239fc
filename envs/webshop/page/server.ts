/**
 * A web page on this machine on which a person shops, by the rules and for the reward that agents have.
 *
 * Invariants
 * - It listens on loopback only, and answers requests that name it by a loopback name only.
 * - It changes nothing on a request from another site.
 * - Actions are played one after another, in the order in which they came.
 */
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { csrf } from 'hono/csrf'
import { hostToListenOn, mayEnter } from '../../../machine/network/listening.ts'
import type { ToolCall } from '../../../messages/message.ts'
import type { InstanceId, ServedPage } from '../../contract/environment.ts'
import type { ShopSession } from '../shop-session.ts'
import { clickCall, searchCall } from '../tools.ts'
import { documentOf, messageOf } from './html.ts'

/** The session and the goals that a person plays. */
export interface PageOptions {
  readonly session: ShopSession
  /** The first goal, and those after it. */
  readonly instances: Iterator<InstanceId, unknown>
  /** 0 takes any free one. */
  readonly port: number
}

// Keywords are short; a form that is longer is a mistake.
const longestForm = 64 * 1024
const policy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/** Serves the shop until it is closed. */
export async function servePage(options: PageOptions): Promise<ServedPage> {
  const player = new Player(options)
  await player.start()
  const app = createApp(player)
  const host = hostToListenOn({}, '--host', 'a token')
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, hostname: host, port: options.port }, (address: AddressInfo) =>
      resolve({
        url: `http://${host}:${address.port}/`,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            if ('closeAllConnections' in server) server.closeAllConnections()
          }),
      }),
    )
    server.once('error', reject)
  })
}

function createApp(player: Player): Hono {
  const app = new Hono()
  app.use(async (context, next) => {
    if (!mayEnter({ host: new URL(context.req.url).host }, {}))
      return context.html(messageOf('Not here', 'The shop is at 127.0.0.1 only.'), 421)
    context.header('Content-Security-Policy', policy)
    context.header('X-Content-Type-Options', 'nosniff')
    context.header('Referrer-Policy', 'no-referrer')
    context.header('Cache-Control', 'no-store')
    return next()
  })
  app.use(csrf())
  app.use(
    bodyLimit({
      maxSize: longestForm,
      onError: (context) => context.html(messageOf('Too long', 'Use fewer words.'), 413),
    }),
  )
  app.get('/', (context) => context.html(documentOf(player.view)))
  app.post('/search', async (context) => {
    const { keywords } = await context.req.parseBody()
    if (typeof keywords === 'string') await player.play(searchCall(keywords))
    return context.redirect('/', 303)
  })
  app.post('/click', async (context) => {
    const { value } = await context.req.parseBody()
    if (typeof value === 'string') await player.play(clickCall(value))
    return context.redirect('/', 303)
  })
  app.post('/next', async (context) => {
    await player.start()
    return context.redirect('/', 303)
  })
  app.post('/again', async (context) => {
    await player.again()
    return context.redirect('/', 303)
  })
  app.notFound((context) => context.html(messageOf('Not found', 'There is no such page.'), 404))
  app.onError((fault, context) => {
    if ('getResponse' in fault) return (fault as { getResponse(): Response }).getResponse()
    return context.html(messageOf('That went wrong', fault.message), 500)
  })
  return app
}

/** The person's session. */
class Player {
  readonly #options: PageOptions
  #instance: InstanceId = ''
  #turns = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: PageOptions) {
    this.#options = options
  }

  get view(): Parameters<typeof documentOf>[0] {
    return { ...this.#options.session.view(), instance: this.#instance, turns: this.#turns }
  }

  /** Goes to the next goal; stays where there is none. */
  start(): Promise<void> {
    return this.#inTurn(async () => {
      const next = this.#options.instances.next()
      if (next.done !== true) await this.#reset(next.value)
    })
  }

  again(): Promise<void> {
    return this.#inTurn(() => this.#reset(this.#instance))
  }

  play(call: ToolCall): Promise<void> {
    return this.#inTurn(async () => {
      this.#turns++
      await this.#options.session.step({ role: 'assistant', content: '', tool_calls: [call] })
    })
  }

  async #reset(instance: InstanceId): Promise<void> {
    await this.#options.session.reset(instance)
    this.#instance = instance
    this.#turns = 0
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work)
    // The request that waits for it gets the failure; those behind it continue.
    this.#last = done.catch(() => undefined)
    return done
  }
}
