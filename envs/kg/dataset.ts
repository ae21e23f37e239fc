/**
 * Questions and triples of a data folder.
 *
 * - `questions.jsonl`: a question per line, `{id, question, entities, relations?, answers, split?}`. `entities`
 *   are names, or ids by names; `relations` are the gold ones, a path for each entity in their order.
 * - `*.json`: AgentBench's lists, `{qid, question, entities, actions, answer: [{answer_argument}]}`.
 * - `triples.tsv`: subject, relation and object, with tabs between them; `relations.tsv`, if there is one:
 *   a relation and the type of what it leads to. Types `number` and `date` make a relation an attribute.
 *
 * Invariants
 * - A question is named by its id, or by its split and its id where two files have the same.
 * - A line or item that cannot be used is named in `warnings` and left out; the rest is offered.
 */
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { reasonOf } from '../../faults/reason.ts'
import { readText, TextFault, textLines } from '../../machine/files/text-file.ts'
import { EnvironmentFault } from '../contract/environment.ts'
import { emptyFolder, Warnings } from '../contract/library.ts'
import { callsAlong, kindOfGold, parseActions } from './actions.ts'
import type { Triple } from './graph/embedded.ts'
import type { Question } from './library.ts'
import type { KgCall } from './tools.ts'

/** The contents of a data folder. */
export interface KgData {
  /** Questions by split, each split in the order of its file. */
  readonly splits: ReadonlyMap<string, readonly Question[]>
  /** Questions that were left out, each with its file and line. */
  readonly warnings: readonly string[]
  /** True where `triples.tsv` is there. */
  readonly hasTriples: boolean
}

const questionsFile = 'questions.jsonl'
const triplesFile = 'triples.tsv'
const typesFile = 'relations.tsv'
// Freebase's vocabulary, which AgentBench keeps beside its questions.
const noQuestions = ['vocab.json']

/** A whole number that a double cannot hold would be another number without a word. */
const scalar = z.union([
  z.string(),
  z
    .number()
    .refine(
      (value) => !Number.isInteger(value) || Number.isSafeInteger(value),
      'has too many digits: write it as text',
    ),
  z.boolean(),
])
const relationsSchema = z.array(z.union([z.string(), z.array(z.string())]))
const questionSchema = z
  .looseObject({
    id: z.union([z.string(), z.int()]).optional(),
    qid: z.string().optional(),
    question: z.string(),
    entities: z.union([z.array(z.string()), z.record(z.string(), z.string())]),
    // In another form they are the user's own, and there is no gold.
    relations: z.unknown().optional(),
    actions: z.array(z.string()).optional(),
    answers: z.array(scalar).min(1).optional(),
    answer: z
      .array(z.looseObject({ answer_argument: scalar }))
      .min(1)
      .optional(),
    split: z.string().min(1).optional(),
  })
  .refine((item) => item.id !== undefined || item.qid !== undefined, 'needs "id" or "qid"')
  .refine((item) => item.answers !== undefined || item.answer !== undefined, 'needs "answers" or "answer"')

/** Reads the questions of a folder. @throws EnvironmentFault bad_data where there are none */
export async function readQuestions(dir: string): Promise<KgData> {
  const names = await readdir(dir).catch((cause: unknown) => {
    throw new EnvironmentFault('bad_data', `kg data: ${dir} cannot be read`, { cause })
  })
  const warnings = new Warnings('kg')
  const splits = new Map<string, Map<string, Question>>()
  const files = names.filter(
    (name) => name === questionsFile || (name.endsWith('.json') && !noQuestions.includes(name)),
  )
  for (const name of files.sort()) {
    const file = path.join(dir, name)
    const unusable: string[] = []
    let used = 0
    for await (const { place, item } of itemsOf(file, unusable)) {
      const result = questionSchema.safeParse(item)
      if (!result.success) {
        unusable.push(`${place}: ${z.prettifyError(result.error).replaceAll('\n', ' ')}`)
        continue
      }
      used++
      const question = questionOf(result.data)
      const split = result.data.split ?? path.parse(name).name
      const questions = splits.get(split) ?? new Map<string, Question>()
      splits.set(split, questions)
      if (questions.has(question.id)) unusable.push(`${place}: the split has another "${question.id}"`)
      else questions.set(question.id, question)
    }
    warnings.addOf(file, unusable, used)
  }
  if (splits.size === 0) {
    const expected = `${questionsFile} with ${triplesFile}, or AgentBench's *.json`
    throw emptyFolder('kg', dir, { what: 'questions', expected, warnings: warnings.all() })
  }
  return {
    splits: new Map([...splits].map(([split, questions]) => [split, [...questions.values()]])),
    warnings: warnings.all(),
    hasTriples: names.includes(triplesFile),
  }
}

/** Reads the triples of a folder, and the types that its relations declare. @throws EnvironmentFault bad_data */
export async function readTriples(
  dir: string,
): Promise<{ triples: Triple[]; types: ReadonlyMap<string, string>; warnings: readonly string[] }> {
  const warnings = new Warnings('kg')
  const triples: Triple[] = []
  for await (const [place, cells] of rowsOf(path.join(dir, triplesFile))) {
    const [subject = '', relation = '', object = ''] = cells
    if (cells.length !== 3 || cells.includes('') || !cells.every((cell) => cell.isWellFormed()))
      warnings.add(`${place}: expected subject, relation and object with tabs between them`)
    else triples.push([subject, relation, object])
  }
  const types = new Map<string, string>()
  if ((await readdir(dir)).includes(typesFile))
    for await (const [place, cells] of rowsOf(path.join(dir, typesFile))) {
      const [relation = '', type = ''] = cells
      if (cells.length !== 2 || cells.includes('')) warnings.add(`${place}: expected relation and type`)
      else types.set(relation, type)
    }
  return { triples, types, warnings: warnings.all() }
}

function questionOf(item: z.infer<typeof questionSchema>): Question {
  const { question, entities, actions, relations } = item
  const ids = new Map(
    Array.isArray(entities) ? entities.map((name) => [name, name]) : Object.entries(entities),
  )
  const answers = item.answers ?? (item.answer ?? []).map(({ answer_argument }) => answer_argument)
  const gold = actions === undefined ? goldAlong([...ids.keys()], relations) : parseActions(actions)
  return {
    id: String(item.qid ?? item.id),
    text: question,
    entities: ids,
    answers: new Set(answers.map(String)),
    ...(gold && { gold, kind: kindOfGold(gold) }),
  }
}

/** A path for each entity: a list, or one relation alone; for one entity also its path as it is. */
function goldAlong(entities: readonly string[], given: unknown): KgCall[] | undefined {
  const { data: relations } = relationsSchema.safeParse(given)
  if (relations === undefined || relations.length === 0 || entities.length === 0) return undefined
  const flat = relations.every((relation) => typeof relation === 'string')
  const paths = flat && entities.length === 1 ? [relations] : relations
  if (paths.length !== entities.length || paths.some((relation) => relation.length === 0)) return undefined
  return callsAlong(
    entities.map((entity, position) => ({ entity, relations: [paths[position] ?? []].flat(2) })),
  )
}

/** The objects of a file, each with where it is. */
async function* itemsOf(file: string, unusable: string[]): AsyncGenerator<{ place: string; item: unknown }> {
  if (file.endsWith('.jsonl')) {
    for await (const [place, line] of linesOf(file)) {
      const item = parse(line)
      if (item === undefined) unusable.push(`${place}: is no JSON`)
      else yield { place, item }
    }
    return
  }
  const text = await readText(file).catch((cause: unknown) => {
    throw badText(cause)
  })
  const list = parse(text)
  if (!Array.isArray(list)) unusable.push(`${file}: is no JSON list of questions`)
  else for (const [position, item] of list.entries()) yield { place: `${file}, item ${position}`, item }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The caller says where; what exactly is wrong with a line would not help more.
    return undefined
  }
}

async function* rowsOf(file: string): AsyncGenerator<[place: string, cells: string[]]> {
  for await (const [place, line] of linesOf(file)) yield [place, line.split('\t').map((cell) => cell.trim())]
}

/** The lines of a file that are not blank. @throws EnvironmentFault bad_data */
async function* linesOf(file: string): AsyncGenerator<[place: string, line: string]> {
  try {
    let number = 0
    for await (const line of textLines(file)) {
      number++
      if (line.trim() !== '') yield [`${file}, line ${number}`, line]
    }
  } catch (cause) {
    throw badText(cause)
  }
}

function badText(cause: unknown): unknown {
  return cause instanceof TextFault
    ? new EnvironmentFault('bad_data', `kg data: ${reasonOf(cause)}`, { cause })
    : cause
}
