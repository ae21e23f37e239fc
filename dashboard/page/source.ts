/**
 * Where answers come from: the server, or the report that this document is.
 *
 * Invariants
 * - A report asks no one: what it does not hold is said to be missing from it.
 * - Whatever goes wrong is a `PageFault` with the server's own words, where it had any.
 */
import { Fault } from '../../faults/fault.ts'
import { type Refusal, type RefusalKind, type Report, reportElement } from '../contract/routes.ts'

/** A route, with the type of its answer. */
export type AnswerRoute<Answer> = string & { readonly answers?: Answer }

/** Why there is no answer. */
export class PageFault extends Fault<RefusalKind | 'unreachable'> {
  override readonly name = 'PageFault'
}

/** The report that this document holds; undefined at a server. */
export const report: Report | undefined = readReport()

/** @throws PageFault */
export async function ask<Answer>(route: AnswerRoute<Answer>, signal?: AbortSignal): Promise<Answer> {
  if (report !== undefined) return reported(report, route)
  return read<Answer>(() => fetch(route, { headers: { accept: 'application/json' }, signal: signal ?? null }))
}

/** Gives an order. @throws PageFault `refused` in the words of the run's validator */
export async function tell<Answer>(route: AnswerRoute<Answer>, body: object): Promise<Answer> {
  if (report !== undefined) throw new PageFault('forbidden', 'A report is a record: it takes no orders.')
  return read<Answer>(() =>
    fetch(route, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  )
}

function reported<Answer>(from: Report, route: AnswerRoute<Answer>): Answer {
  if (!Object.hasOwn(from.answers, route))
    throw new PageFault(
      'unknown',
      'This is not part of the report. `npx perdure ui` shows it where the home directory is.',
    )
  // The document was written with the same contract.
  return from.answers[route] as Answer
}

async function read<Answer>(call: () => Promise<Response>): Promise<Answer> {
  let response: Response
  try {
    response = await call()
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new PageFault('unreachable', 'The server of this page does not answer; start it again.', { cause })
  }
  const body: unknown = await response.json().catch(() => undefined)
  if (response.ok && body !== undefined) return body as Answer
  const refusal = isRefusal(body) ? body.error : undefined
  throw new PageFault(
    refusal?.kind ?? 'unavailable',
    refusal?.message ?? `The server answered with ${response.status}, without a reason.`,
  )
}

function isRefusal(body: unknown): body is Refusal {
  return typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'object'
}

function readReport(): Report | undefined {
  const text = document.getElementById(reportElement)?.textContent
  return text === null || text === undefined ? undefined : (JSON.parse(text) as Report)
}
