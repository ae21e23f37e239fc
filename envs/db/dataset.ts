/**
 * AgentBench's database problems from a folder of JSON files: `<split>.jsonl`, or `<split>.json` with a list.
 *
 * Invariants
 * - An id is `<file stem>/<position from 0>`, an empty or broken line counted.
 * - A line that cannot be used is named in `warnings` and left out of the splits; the rest is offered.
 * - Cells are what Python's `str` makes of them, as the official task inserts them.
 */
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { readText } from '../../machine/files/text-file.ts'
import type { TableData } from '../../worlds/mysql/database.ts'
import type { InstanceId } from '../contract/environment.ts'
import { emptyFolder, type Library, listedLibrary, unreadableFolder, Warnings } from '../contract/library.ts'
import type { DbItem, Goal } from './item.ts'
import { reprOfFloat, reprOfText } from './narration.ts'

const tableSchema = z.object({
  table_name: z.string().min(1),
  table_info: z.object({
    columns: z.array(z.object({ name: z.string() })).min(1),
    rows: z.array(z.array(z.unknown())),
  }),
})
const entrySchema = z.object({
  description: z.string(),
  add_description: z.string().optional(),
  evidence: z.string().optional(),
  type: z.tuple([z.string()], z.string()),
  label: z.union([z.array(z.unknown()), z.string().transform((label): unknown[] => [label])]).optional(),
  answer_md5: z.string().nullish(),
  table: z.union([tableSchema, z.array(tableSchema).min(1)]),
})

/** Opens a folder of official problems. @throws EnvironmentFault bad_data where it holds none */
export async function openDataset(dir: string): Promise<Library<DbItem>> {
  const names = await readdir(dir).catch(unreadableFolder('db', dir))
  const warnings = new Warnings('db')
  const splits = new Map<string, ReadonlyMap<InstanceId, DbItem>>()
  for (const name of names.filter((file) => /\.jsonl?$/.test(file)).sort()) {
    const stem = name.replace(/\.jsonl?$/, '')
    if (splits.has(stem)) {
      warnings.add(`${path.join(dir, name)}: there is another file of that name, which is used`)
      continue
    }
    const items = await readSplit(path.join(dir, name), stem, warnings)
    if (items.size > 0) splits.set(stem, items)
  }
  if (splits.size === 0) {
    const expected = 'dev.jsonl, standard.jsonl'
    throw emptyFolder('db', dir, { what: 'problems', expected, warnings: warnings.all() })
  }
  return listedLibrary(`db data: ${dir}`, 'problem', splits, warnings.all())
}

async function readSplit(
  file: string,
  stem: string,
  warnings: Warnings,
): Promise<ReadonlyMap<InstanceId, DbItem>> {
  const items = new Map<InstanceId, DbItem>()
  const entries = await entriesOf(file)
  const unusable: string[] = []
  for (const [position, read] of entries.entries()) {
    const id = `${stem}/${position}`
    try {
      const entry = read()
      if (entry !== undefined) items.set(id, itemOf(id, entrySchema.parse(entry)))
    } catch (error) {
      const reason =
        error instanceof z.ZodError ? z.prettifyError(error).replaceAll('\n', ' ') : String(error)
      unusable.push(`${file}, ${position}: ${reason}`)
    }
  }
  warnings.addOf(file, unusable, items.size)
  return items
}

async function entriesOf(file: string): Promise<(() => unknown)[]> {
  try {
    const text = await readText(file)
    if (file.endsWith('.jsonl'))
      return text.split('\n').map((line) => () => (line.trim() === '' ? undefined : parsed(line)))
    const list = z.array(z.unknown()).parse(parsed(text))
    return list.map((entry) => () => entry)
  } catch (error) {
    return [
      () => {
        throw error
      },
    ]
  }
}

/** JSON in which a number keeps how it is written: Python tells 86.0 from 86. */
function parsed(text: string): unknown {
  return JSON.parse(text, (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' ? new PythonNumber(value, context?.source ?? String(value)) : value,
  )
}

class PythonNumber {
  readonly #value: number
  readonly #source: string

  constructor(value: number, source: string) {
    this.#value = value
    this.#source = source
  }

  toString(): string {
    return /[.eE]/.test(this.#source) ? reprOfFloat(this.#value) : this.#source.replace(/^-0+$/, '0')
  }
}

/** Formats a value from JSON as Python's `str` does. */
function pythonText(value: unknown): string {
  return typeof value === 'string' ? value : pythonRepr(value)
}

function pythonRepr(value: unknown): string {
  if (typeof value === 'string') return reprOfText(value)
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (value instanceof PythonNumber) return value.toString()
  if (Array.isArray(value)) return `[${value.map(pythonRepr).join(', ')}]`
  return `{${Object.entries(value)
    .map(([key, member]) => `${reprOfText(key)}: ${pythonRepr(member)}`)
    .join(', ')}}`
}

const changes = new Set(['INSERT', 'UPDATE', 'DELETE'])

function itemOf(id: InstanceId, entry: z.infer<typeof entrySchema>): DbItem {
  const tables = (Array.isArray(entry.table) ? entry.table : [entry.table]).map(tableOf)
  const [type] = entry.type
  const labels = (entry.label ?? []).map(pythonText)
  const changing = changes.has(type)
  return {
    id,
    question: questionOf(entry),
    tables,
    goal: changing ? stateGoal(entry.answer_md5, labels) : answerGoal(labels),
    kind: type,
  }
}

function tableOf({ table_name, table_info: { columns, rows } }: z.infer<typeof tableSchema>): TableData {
  for (const row of rows)
    if (row.length !== columns.length)
      throw new Error(`a row of ${table_name} has ${row.length} cells, its columns are ${columns.length}`)
  return {
    name: table_name,
    columns: usableNames(columns.map(({ name }) => name)),
    rows: rows.map((row) => row.map(pythonText)),
  }
}

const longestName = 64

/** Names that MySQL takes: none is empty, ends in a blank, is too long or there twice. */
function usableNames(names: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  return names.map((name) => {
    const base = name.trimEnd().slice(0, longestName - 4) || '_'
    const own = name.trimEnd() === '' || name.length > longestName ? base : name.trimEnd()
    let free = own
    for (let number = 2; taken.has(free.toLowerCase()); number++) free = `${base}_${number}`
    taken.add(free.toLowerCase())
    return free
  })
}

const hashPattern =
  /^\[\((?:'([0-9a-f]{32}(?:_[0-9a-f]{32})*)'|(None)),\)\]$|^([0-9a-f]{32}(?:_[0-9a-f]{32})*)$/

/** Where no hash is given, the state is what the gold statement leads to. */
function stateGoal(given: string | null | undefined, gold: readonly string[]): Goal {
  if ((given ?? '') === '' && gold.length > 0) return { kind: 'effect', statements: gold }
  const match = hashPattern.exec(given?.trim() ?? '')
  if (match === null) throw new Error(`answer_md5 ${JSON.stringify(given)} is no hash`)
  return { kind: 'state', hash: match[1] ?? match[3] ?? null }
}

function answerGoal(labels: readonly string[]): Goal {
  if (labels.length === 0) throw new Error('it has no label')
  return { kind: 'answer', answers: labels }
}

/** The official first message. */
function questionOf({
  description,
  add_description = '',
  evidence = '',
}: z.infer<typeof entrySchema>): string {
  return [
    ...(evidence === '' ? [] : [`Evidence about the question: ${evidence}\n`]),
    ...(add_description === ''
      ? []
      : [`Additional table information about the question: ${add_description}\n`]),
    `Question: ${description}\n`,
  ].join('')
}
