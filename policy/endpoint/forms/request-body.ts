/**
 * Bodies of requests, read with bounds, and the parts that several forms share.
 *
 * Invariants
 * - [REQUEST-1] A parameter that would change the answer and is not supported is refused by name, never ignored; so is one that this
 *   server does not know.
 * - [REQUEST-2] A list is counted, and the depth and the parts of a body measured, before the elements are read: no body is read for
 *   longer than a moment.
 * - Parameters that say nothing about the answer (`user`, `metadata`, …) are taken and not used.
 * - [NESTING-1] It is measured without recursion, so a value of any depth can be refused before code that recurses reads it.
 */
import { z } from 'zod'
import { mostTokens } from '../asked.ts'
import { RequestFault } from '../request-fault.ts'

/** More messages, items or blocks than fit into any context. */
export const mostMessages = 65_536

/** More tools than any policy is shown. */
const mostTools = 1024

/** A list whose elements are read only where there are no more than `most`. */
export function listOf<Element extends z.ZodType>(element: Element, most: number) {
  return z.array(z.unknown()).max(most).pipe(z.array(element))
}

export function toolsOf<Tool extends z.ZodType>(tool: Tool) {
  return listOf(tool, mostTools).nullish()
}

/** A request of these parameters alone; others may be null. */
export function requestOf<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object(shape).catchall(z.null('this server does not support it'))
}

/** Parameters that are taken and not used. */
export function unused<Name extends string>(...names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, z.unknown().optional()])) as Record<
    Name,
    z.ZodOptional<z.ZodUnknown>
  >
}

/** A text, or its parts; parts of another type, as images, are refused. @param types of parts that are text */
export function textOf(...types: readonly [string, ...string[]]) {
  const part = z.looseObject({ type: z.enum(types), text: z.string() })
  return z.union([z.string(), listOf(part, mostMessages).transform(joined)], {
    error: `expected a text, or parts of type ${types.join(' or ')}`,
  })
}

function joined(parts: readonly { readonly text: string }[]): string {
  return parts.map(({ text }) => text).join('')
}

/** Sampling settings of every form; some accept only the value that leaves the distribution as it is. */
export const sampling = {
  temperature: z.number().min(0).max(10).nullish(),
  seed: z.int().nullish(),
  top_p: z.literal(1).nullish(),
  top_k: z.literal([-1, 0]).nullish(),
  min_p: z.literal(0).nullish(),
  presence_penalty: z.literal(0).nullish(),
  frequency_penalty: z.literal(0).nullish(),
  repetition_penalty: z.literal(1).nullish(),
  logit_bias: z.strictObject({}).nullish(),
}

/** Tokens that are asked for. */
export const tokenCount = z.int().min(1).max(1_000_000)

/** Read by hand: a schema for each id would take seconds where there are millions. */
export const tokenIds = z.custom<readonly number[]>(
  (value) =>
    Array.isArray(value) &&
    value.length <= mostTokens &&
    value.every((id) => Number.isSafeInteger(id) && id >= 0),
  'expected a list of token ids',
)

/** The JSON of a body. @throws RequestFault */
export function jsonOf(text: string): unknown {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (cause) {
    throw new RequestFault('bad_request', 'the body is no JSON', null, { cause })
  }
  if (isTooDeep(body))
    throw new RequestFault('bad_request', `the body is nested deeper than ${deepestNesting} levels`)
  if (text.length > mostParts && partsOf(body) > mostParts)
    throw new RequestFault('bad_request', `the body has more than ${mostParts} lists and objects`)
  return body
}

/** A request's body. @throws RequestFault naming the parameter */
export function parseRequest<T>(body: unknown, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const param = issue?.path.map(String).join('.') ?? ''
  throw new RequestFault(
    'bad_request',
    `${param === '' ? 'the body' : `\`${param}\``}: ${issue?.message ?? 'it cannot be used'}`,
    param === '' ? null : param,
  )
}

/** Lists and objects of a body: more than those of a conversation that fits into a context of a million tokens. */
const mostParts = 100_000

function partsOf(value: unknown): number {
  let count = 0
  let level = [value].filter(isContainer)
  while (level.length > 0) {
    count += level.length
    level = level.flatMap((container) => Object.values(container).filter(isContainer))
  }
  return count
}

/** Deeper than any JSON that people or programs write, and far below the depth at which recursive readers overflow. */
export const deepestNesting = 128

/** Whether a value holds lists or objects within one another beyond `most` levels; a plain value has none. */
export function isTooDeep(value: unknown, most = deepestNesting): boolean {
  let level = [value].filter(isContainer)
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > most) return true
    level = level.flatMap((container) => Object.values(container).filter(isContainer))
  }
  return false
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
