import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { StepResult, Task } from '../contract/environment.ts'
import { kg } from './definition.ts'
import { startSparqlServer } from './graph/sparql-server.testing.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A data folder with these files. */
function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'perdure-kg-'))
  folders.push(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text)
  return folder
}

const jsonLines = (...items: unknown[]) => items.map((item) => `${JSON.stringify(item)}\n`).join('')

const triples = 'Ann\tchild\tBob\nAnn\tchild\tCyd\r\nBob\tborn\t1990-05-01\nCyd\tborn\t1992\n\n'
const oldest = {
  id: 7,
  question: 'Who is the oldest child?',
  entities: ['Ann'],
  answers: ['Bob'],
  actions: ['get_relations(Ann)', 'get_neighbors(Ann,child)', 'get_attributes(#0)', 'argmin(#0,born)'],
}

async function playGold(task: Task, instance: string): Promise<StepResult[]> {
  const session = await task.create()
  await session.reset(instance)
  const results: StepResult[] = []
  for (const action of (await task.demonstrate?.(instance))?.actions ?? [])
    results.push(await session.step(action))
  return results
}

test('a folder of triples and questions is played, in AgentBench’s words', async () => {
  const path = { id: 'b', question: 'Born?', entities: ['Bob'], relations: ['born'], answers: ['1990-05-01'] }
  const dataDir = folderWith({
    'triples.tsv': triples,
    'questions.jsonl': jsonLines(
      oldest,
      { ...path, split: 'train' },
      { ...path, id: 'c', relations: { odd: 1 } },
    ),
  })
  const task = await kg.open({ dataDir })
  expect(task.warnings).toEqual([])
  expect(task.splits).toEqual([
    { name: 'questions', size: 2 },
    { name: 'train', size: 1 },
  ])
  expect(task.instanceAt('questions', 2)).toBe('7')
  const results = await playGold(task, '7')
  expect(results.map(({ messages }) => messages[0]?.content)).toEqual([
    'Observation: [child]',
    'Observation: variable #0',
    'Observation: [born]',
    'Observation: variable #1',
    'The question has been answered.',
  ])
  expect(results.at(-1)).toMatchObject({ reward: 1, info: { variable: '#1', size: 1, f1: 1 } })
  // Also by the split and the id, as the replay of one split names it.
  expect((await playGold(task, 'train/b')).at(-1)?.reward).toBe(1)
  expect(await task.demonstrate?.('c')).toBeUndefined()
  await task.close()
})

test('relations.tsv gives variables their types, and makes relations attributes', async () => {
  const dataDir = folderWith({
    'triples.tsv': triples,
    'relations.tsv': 'child\tperson\nborn\tdate\n',
    'questions.jsonl': jsonLines(oldest),
  })
  const task = await kg.open({ dataDir })
  const results = await playGold(task, '7')
  expect(results[1]?.messages[0]?.content).toBe('Observation: variable #0, which are instances of person')
  expect(results.at(-1)?.reward).toBe(1)
})

test('a line or item that cannot be used is named in warnings and left out; the rest is offered', async () => {
  const dataDir = folderWith({
    'triples.tsv': `one\n\tx\ty\n${triples}`,
    'relations.tsv': 'child\n',
    'questions.jsonl': `{broken\n${jsonLines(oldest, oldest, { id: 1 }, { ...oldest, id: 2, answers: [] })}`,
    'other.json': '{"not": "a list"}',
    'vocab.json': '{}',
  })
  const task = await kg.open({ dataDir })
  expect(task.splits).toEqual([{ name: 'questions', size: 1 }])
  const warnings = task.warnings ?? []
  expect(warnings.map((text) => text.replace(dataDir, '').slice(0, 48))).toEqual(
    [
      'kg data: /other.json: is no JSON list of questio',
      'kg data: /questions.jsonl, line 1: is no JSON',
      'kg data: /questions.jsonl, line 3: the split has',
      'kg data: /questions.jsonl, line 4: ✖ Invalid inp',
      'kg data: /questions.jsonl, line 5: ✖ Too small: ',
      'kg data: /triples.tsv, line 1: expected subject,',
      'kg data: /triples.tsv, line 2: expected subject,',
      'kg data: /relations.tsv, line 1: expected relatio',
    ].map((text) => text.slice(0, 48)),
  )
})

test('questions without a graph that could answer them are refused when the task is opened', async () => {
  const item = { qid: 'q', question: '?', entities: { Ann: 'm.1' }, answer: [{ answer_argument: 'm.2' }] }
  const dataDir = folderWith({ 'dev.json': JSON.stringify([item]) })
  await expect(kg.open({ dataDir })).rejects.toMatchObject({
    kind: 'bad_settings',
    message: expect.stringMatching(/SPARQL endpoint.*"endpoint".*triples\.tsv/),
  })
  await expect(kg.open({ dataDir: folderWith({}) })).rejects.toMatchObject({ kind: 'bad_data' })
  await expect(kg.open({ dataDir: path.join(dataDir, 'none') })).rejects.toMatchObject({ kind: 'bad_data' })
  await expect(kg.open({ settings: { endpoint: 'http://127.0.0.1:1/' } })).rejects.toThrow(/data folder/)
})

test('AgentBench’s questions are asked of an endpoint', async () => {
  await using server = await startSparqlServer()
  server.load(`@prefix : <http://rdf.freebase.com/ns/> .
    :m.1 :people.person.children :m.2, :m.3 .
    :people.person.children :type.property.expected_type :people.person .`)
  const item = {
    qid: 'q1',
    question: 'How many children?',
    entities: { 'Ann, the first': 'm.1' },
    answer: [{ answer_type: 'Value', answer_argument: '2' }],
    actions: ['get_relations(m.1)', 'get_neighbors(m.1,people.person.children)', 'count(#0)'],
  }
  const unsafe = { ...item, qid: 'q2', entities: { Eve: 'm.1> . } #' } }
  const dataDir = folderWith({
    'dev.json': JSON.stringify([item, unsafe]),
    'std.json': JSON.stringify([item]),
  })
  const task = await kg.open({ dataDir, settings: { endpoint: server.url } })
  expect(task.warnings).toEqual([expect.stringContaining('q2: no IRI can end in "m.1> . } #"')])
  expect(task.splits).toEqual([
    { name: 'dev', size: 1 },
    { name: 'std', size: 1 },
  ])
  expect([task.instanceAt('dev', 0), task.instanceAt('std', 0)]).toEqual(['q1', 'std/q1'])
  const results = await playGold(task, 'q1')
  expect(results.map(({ messages }) => messages[0]?.content)).toEqual([
    'Observation: [people.person.children]',
    'Observation: variable #0, which are instances of people.person',
    'Observation: variable #1, which is a number',
    'The question has been answered.',
  ])
  expect(results.at(-1)?.reward).toBe(1)
  await task.close()
})

test('AgentBench’s vocabulary is read where the folder has it', async () => {
  await using server = await startSparqlServer()
  server.load(`@prefix : <http://rdf.freebase.com/ns/> . :m.1 :a.b.c :m.2 ; :a.b.d :m.3 ; :a.b.e 7 .`)
  const item = { qid: 'q', question: '?', entities: { Ann: 'm.1' }, answer: [{ answer_argument: 'm.2' }] }
  const files = {
    'dev.json': JSON.stringify([{ ...item, actions: ['get_relations(m.1)', 'get_neighbors(m.1,a.b.c)'] }]),
    'vocab.json': JSON.stringify({ relations: ['a.b.c', 'x.y.z'], attributes: ['a.b.e'] }),
    fb_roles: 'a.b a.b.c people.person\na.b a.b.e type.int\n',
  }
  const settings = { endpoint: server.url }
  const task = await kg.open({ dataDir: folderWith(files), settings })
  expect((await playGold(task, 'q')).slice(0, 2).map(({ messages }) => messages[0]?.content)).toEqual([
    'Observation: [a.b.c]',
    'Observation: variable #0, which are instances of people.person',
  ])
  const broken = folderWith({ ...files, 'vocab.json': '[]' })
  await expect(kg.open({ dataDir: broken, settings })).rejects.toMatchObject({ kind: 'bad_data' })
})

test.each([
  [{ difficulty: 'brutal' }, /difficulty/],
  [{ kinds: [] }, /kinds/],
  [{ kinds: ['four_hop'] }, /kinds/],
  [{ endpoint: 'ftp://host/' }, /endpoint/],
  [{ namespace: 'http://a/"> .' }, /namespace/],
  [{ timeoutSeconds: 0 }, /timeoutSeconds/],
  [{ maxRows: 0.5 }, /maxRows/],
  [{ sparql: true }, /sparql/],
])('settings that make no sense are refused by name: %j', async (settings, message) => {
  await expect(kg.open({ settings })).rejects.toThrow(message)
  await expect(kg.open({ settings })).rejects.toMatchObject({ kind: 'bad_settings' })
})
