/**
 * The fields of the configuration as the schema declares them: key, type, bounds, default, description.
 *
 * Invariants
 * - Everything here is read off the schema; no field is described twice.
 * - A list's fields are named with `N` in place of the index: `tasks.N.weight`.
 */
import { z } from 'zod'
import { boundsInWords } from '../../learning/run/bounds.ts'
import { configSchema } from './schema.ts'

/** One key of the configuration. */
export interface Field {
  /** `rollout.groupSize`, `tasks.N.weight`. */
  readonly key: string
  readonly description: string
  /** Type and bounds in words, e.g. `integer from 2 to 1024`. */
  readonly allowed: string
  /** Undefined where the key may be absent, and for sections. */
  readonly default: unknown
  /** A section or list of sections holds fields of its own. */
  readonly section: boolean
}

const nodeSchema = z.object({
  type: z.string().optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  minimum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  maximum: z.number().optional(),
  exclusiveMaximum: z.number().optional(),
  minLength: z.number().optional(),
  minItems: z.number().optional(),
  maxItems: z.number().optional(),
  pattern: z.string().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
})
type Node = z.output<typeof nodeSchema>

function allowedBy(node: Node): string {
  if (node.anyOf !== undefined)
    return node.anyOf.map((each) => allowedBy(nodeSchema.parse(each))).join(', or ')
  if (node.const !== undefined) return String(node.const)
  if (node.enum?.length === 1) return String(node.enum[0])
  if (node.enum !== undefined) return `one of ${node.enum.map((value) => String(value)).join(', ')}`
  switch (node.type) {
    case 'integer':
    case 'number':
      return boundsInWords({
        ...(node.type === 'integer' ? { whole: true } : {}),
        atLeast: node.minimum,
        above: node.exclusiveMinimum,
        atMost: node.maximum,
        below: node.exclusiveMaximum,
      })
    case 'string':
      return node.pattern === undefined ? 'text' : `text of the form ${node.pattern}`
    case 'boolean':
      return 'true or false'
    case 'array':
      return `list of ${node.minItems ?? 0} to ${node.maxItems ?? 'any number of'} entries`
    case 'object':
      return 'keys with values'
    default:
      return 'any value'
  }
}

function walk(key: string, raw: unknown, found: Field[]): void {
  const node = nodeSchema.parse(raw)
  const item = node.items === undefined ? undefined : nodeSchema.parse(node.items)
  const section = node.properties !== undefined || item?.properties !== undefined
  if (key !== '') {
    found.push({
      key,
      description: node.description ?? '',
      allowed: allowedBy(node),
      default: section ? undefined : node.default,
      section,
    })
  }
  const inside = item?.properties === undefined ? key : `${key}.N`
  for (const [name, child] of Object.entries(node.properties ?? item?.properties ?? {})) {
    walk(inside === '' ? name : `${inside}.${name}`, child, found)
  }
}

let known: readonly Field[] | undefined

/** All fields, in the order of the schema. */
export function configFields(): readonly Field[] {
  if (known === undefined) {
    const found: Field[] = []
    walk('', z.toJSONSchema(configSchema, { io: 'input' }), found)
    known = found
  }
  return known
}

/** The field at a path of keys and indices; undefined where the schema has none. */
export function fieldAt(path: readonly PropertyKey[]): Field | undefined {
  const key = path.map((part) => (typeof part === 'number' ? 'N' : String(part))).join('.')
  return configFields().find((field) => field.key === key)
}

/** Keys that a section holds, without their prefix; those of the whole configuration for `[]`. */
export function keysOf(path: readonly PropertyKey[]): readonly string[] {
  const at = path.map((part) => (typeof part === 'number' ? 'N' : String(part))).join('.')
  const prefix = at === '' ? '' : `${at}.`
  return configFields()
    .filter(({ key }) => key.startsWith(prefix) && !key.slice(prefix.length).includes('.'))
    .map(({ key }) => key.slice(prefix.length))
}
