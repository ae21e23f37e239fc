/**
 * YAML texts as data, of files and of single values.
 *
 * Invariants
 * - A text that is not read in full is a YamlProblem with its position and, where it has one, its key: nothing in it is
 *   dropped or guessed.
 */
import {
  type Document,
  isAlias,
  isNode,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml'
import { Fault, type FaultOptions } from '../../faults/fault.ts'

/** A text that is no YAML, or says what no configuration can. */
export class YamlProblem extends Fault<'bad_yaml'> {
  override readonly name = 'YamlProblem'
  protected static override readonly permanentKinds = 'all'
  /** The key of the value; empty where it has none. */
  readonly key: string
  readonly line: number
  readonly column: number

  constructor(message: string, place: { key: string; line: number; column: number }, options?: FaultOptions) {
    super('bad_yaml', message, options)
    this.key = place.key
    this.line = place.line
    this.column = place.column
  }
}

/** A text that was read. */
export interface YamlText {
  readonly document: Document
  readonly lines: LineCounter
  /** May contain itself where an alias does. */
  readonly value: unknown
}

/** Reads one document. @throws YamlProblem */
export function readYaml(text: string): YamlText {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const [error] = document.errors
  const problem = (message: string, offset: number, key: string, cause?: unknown) => {
    const { line, col } = lines.linePos(offset)
    return new YamlProblem(message, { key, line, column: col }, { cause })
  }
  if (error !== undefined) throw problem(error.message, error.pos[0], '', error)
  visit(document, {
    Alias(_, alias, path) {
      if (alias.resolve(document) === undefined)
        throw problem(
          `*${alias.source} names nothing: no &${alias.source} comes before it`,
          ...at(alias, path),
        )
    },
    Pair(_, { key }, path) {
      const name = isAlias(key) ? key.resolve(document) : key
      if (!isScalar(name)) throw problem('a key is a list or has keys of its own', ...at(key, path))
      if (name.value === '<<' && name.type === 'PLAIN')
        throw problem(
          'YAML 1.2 has no merge keys (<<): write the merged keys out, or give the whole value an alias',
          ...at(key, path),
        )
      if (name.value === '__proto__') throw problem('no key may be called __proto__', ...at(key, path))
    },
  })
  // Aliases are counted where the data is checked: they share what they stand for.
  return { document, lines, value: document.toJS({ maxAliasCount: -1 }) }
}

/** Offset and key of a node. */
function at(node: unknown, path: readonly (Document | Node | { key: unknown })[]): [number, string] {
  const keys = path.flatMap((each) => (isPair(each) && isScalar(each.key) ? [String(each.key.value)] : []))
  return [isNode(node) ? (node.range?.[0] ?? 0) : 0, keys.join('.')]
}
