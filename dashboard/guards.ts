/**
 * Guards of the dashboard: who may ask, and what a browser may do with the answers.
 *
 * Invariants
 * - [GUARD-1] On loopback a request that names another host is refused; elsewhere one without the token is.
 * - [GUARD-2] A page of another site can neither read nor order anything: its requests are refused, by where browsers say
 *   that they come from.
 * - [GUARD-3] The page runs its own script alone, and loads nothing from other hosts.
 * - The token is in no answer; a browser keeps it in a cookie that no script reads.
 */
import type { Context, MiddlewareHandler } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import {
  knockOf,
  type ListeningPlace,
  mayEnter,
  type Objection,
  objectionTo,
} from '../machine/network/listening.ts'
import type { Refusal } from './contract/routes.ts'

const cookieName = 'perdure_ui'

const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headers: Readonly<Record<string, string>> = {
  'content-security-policy': contentPolicy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** Headers of all answers, refusals among them. */
export function withHeaders(): MiddlewareHandler {
  return async (context, next) => {
    await next()
    for (const [name, value] of Object.entries(headers))
      if (name !== 'cache-control' || !context.res.headers.has(name)) context.res.headers.set(name, value)
  }
}

/** Lets in those who may come in. @param place where it listens, and the token where one is needed */
export function guarded(place: ListeningPlace): MiddlewareHandler {
  return async (context, next) => {
    const { req } = context
    const knock = knockOf(req.method, (name) => req.header(name))
    const authorization = knock.authorization ?? `Bearer ${getCookie(context, cookieName) ?? ''}`
    const objection = objectionTo({ ...knock, authorization }, place)
    return objection === undefined ? next() : refusal(context, objections[objection])
  }
}

/** Takes the token out of the address that a person opens, and keeps it where no script and no history has it. */
export function enter(place: ListeningPlace): MiddlewareHandler {
  return async (context) => {
    const token = context.req.param('token') ?? ''
    if (!mayEnter({ host: context.req.header('host'), authorization: `Bearer ${token}` }, place))
      return refusal(context, 'the token is wrong')
    if (place.token !== undefined)
      setCookie(context, cookieName, token, { httpOnly: true, sameSite: 'Strict', path: '/' })
    return context.redirect('/')
  }
}

const objections: Readonly<Record<Objection, string>> = {
  other_name: 'this server answers under its own name alone',
  no_token: 'the token is missing or wrong: open the address that this server printed when it started',
  other_site: 'pages of other sites may not ask',
  not_json: 'orders are posted as application/json',
}

function refusal(context: Context, message: string): Response {
  const body: Refusal = { error: { kind: 'forbidden', message } }
  return context.json(body, 403)
}
