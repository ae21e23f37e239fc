/**
 * Tools as servers describe them, checked before an agent reads them.
 *
 * Invariants
 * - [REMOTE-TOOLS-1] A tool that no agent could call, two of one name, or more than the bound are refused with the server's own names.
 */
import { z } from 'zod'
import type { JsonObject, ToolSpec } from '../../../messages/message.ts'
import { EnvironmentFault } from '../../contract/environment.ts'

/** A prompt with more tools leaves no room for anything else. */
const mostTools = 128
/** Characters of all schemas together. */
const longestSchemas = 1_000_000

const typeName = z.enum(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])
const schema: z.ZodType = z.lazy(() =>
  z.union([
    z.boolean(),
    z.looseObject({
      type: z.union([typeName, z.array(typeName)]).optional(),
      properties: z.record(z.string(), schema).optional(),
      required: z.array(z.string()).optional(),
      items: schema.optional(),
      enum: z.array(z.unknown()).optional(),
      anyOf: z.array(schema).optional(),
      oneOf: z.array(schema).optional(),
    }),
  ]),
)
const parametersSchema = z
  .looseObject({ type: z.literal('object'), properties: z.record(z.string(), schema).default({}) })
  .and(schema)

/** A tool as a server describes it. */
export interface DescribedTool {
  readonly name: string
  readonly description: string
  readonly parameters: unknown
}

/** @throws EnvironmentFault `bad_data` */
export function checkedTools(shown: string, described: readonly DescribedTool[]): readonly ToolSpec[] {
  const refuse = (words: string) => new EnvironmentFault('bad_data', `${shown}: ${words}`)
  if (described.length > mostTools)
    throw refuse(`it offers ${described.length} tools, and an agent is given ${mostTools} at most`)
  const names = described.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw refuse(`it offers two tools "${twice}"`)
  const tools = described.map(({ name, description, parameters }): ToolSpec => {
    if (!/^[\w.-]{1,64}$/.test(name))
      throw refuse(
        `the tool "${name.slice(0, 80)}" cannot be called: a name has up to 64 letters, digits, "_", "-" and "."`,
      )
    const read = parametersSchema.safeParse(parameters)
    if (!read.success)
      throw refuse(
        `the parameters of the tool "${name}" are no JSON schema of an object: ${z.prettifyError(read.error).replaceAll(/\s+/g, ' ').slice(0, 300)}`,
      )
    return { type: 'function', function: { name, description, parameters: parameters as JsonObject } }
  })
  const size = JSON.stringify(tools).length
  if (size > longestSchemas)
    throw refuse(`its tools have ${size} characters, and an agent is given ${longestSchemas} at most`)
  return tools
}
