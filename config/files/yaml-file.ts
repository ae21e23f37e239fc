/**
 * YAML files: read whole, and every place in them known by its line.
 *
 * Invariants
 * - A file that cannot be read, or is no YAML, is a ConfigFault that names it and the line.
 */
import { isMap, isNode, isPair, isScalar, isSeq, type Pair, type YAMLMap } from 'yaml'
import { reasonOf } from '../../faults/reason.ts'
import { readTextSync, TextFault } from '../../machine/files/text-file.ts'
import { ConfigFault } from './fault.ts'
import { readYaml, YamlProblem, type YamlText } from './yaml-text.ts'

/** A file that was read. */
export interface YamlFile extends YamlText {
  readonly file: string
  readonly text: string
}

/** In bytes; a configuration has a few thousand. */
const sizeLimit = 4 * 2 ** 20

/** Reads a file whose keys have values; one without any has the value null. @throws ConfigFault */
export function readYamlFile(file: string): YamlFile {
  let text: string
  try {
    text = readTextSync(file, sizeLimit)
  } catch (cause) {
    const isMissing = cause instanceof TextFault && cause.kind === 'missing'
    const allowed = `${isMissing ? 'no such file' : reasonOf(cause)}; give the path of a YAML configuration`
    throw fileFault('unreadable_file', { where: file }, allowed, cause)
  }
  const read = parsed(file, text)
  const { value } = read
  if (value === null || value === undefined) return { ...read, file, text, value: null }
  if (typeof value !== 'object' || Array.isArray(value))
    throw fileFault('bad_syntax', { where: `${file}:1` }, 'a configuration is made of keys with values')
  return { ...read, file, text }
}

/** File and line of the key that ends the path, or of the deepest ancestor that the file holds. */
export function placeIn(read: YamlFile, path: readonly PropertyKey[]): string {
  const line = lineOf(read, path)
  return line === undefined ? read.file : `${read.file}:${line}`
}

/** Whether the file says anything at the path, or above it. */
export function isPlacedIn(read: YamlFile, path: readonly PropertyKey[]): boolean {
  return lineOf(read, path) !== undefined
}

function fileFault(
  kind: ConfigFault['kind'],
  { where, key = '' }: { readonly where: string; readonly key?: string },
  allowed: string,
  cause?: unknown,
): ConfigFault {
  const at = key === '' ? where : `${where}: \`${key}\``
  return new ConfigFault(kind, [{ key, value: undefined, allowed, where, message: `${at}: ${allowed}` }], {
    cause,
  })
}

function parsed(file: string, text: string): YamlText {
  try {
    return readYaml(text)
  } catch (error) {
    if (!(error instanceof YamlProblem)) throw error
    const { line, column, key } = error
    const where = `${file}:${line}:${column}`
    throw fileFault('bad_syntax', { where, key }, `not valid YAML: ${error.message}`, error)
  }
}

/** Line of the key that ends the path, or of the deepest ancestor that the file holds; of an alias its own. */
function lineOf({ document, lines }: YamlText, path: readonly PropertyKey[]): number | undefined {
  let at: unknown = document.contents
  let offset: number | undefined
  for (const part of path) {
    const place = isMap(at) ? pairIn(at, part) : isSeq(at) ? at.items[Number(part)] : undefined
    const named = isPair(place) ? place.key : place
    if (isNode(named)) offset = named.range?.[0] ?? offset
    at = isPair(place) ? place.value : place
  }
  return offset === undefined ? undefined : lines.linePos(offset).line
}

function pairIn({ items }: YAMLMap, part: PropertyKey): Pair | undefined {
  return items.find(({ key }) => isScalar(key) && String(key.value) === String(part))
}
