import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Store } from 'oxigraph'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sharedData } from '../../test/support/shared-data.ts'
import type { StepResult, Task } from '../contract/environment.ts'
import { goldMessages, makesVariable, parseAction, parseActions, variableIndex } from './actions.ts'
import { kg } from './definition.ts'
import { type EndpointOptions, openEndpoint } from './graph/endpoint.ts'
import type { Ontology } from './graph/ontology.ts'
import type { Question } from './library.ts'
import { createSession } from './question-session.ts'
import { officialWording } from './wording.ts'
import { worldCupQuestions, worldCupTriples } from './world-cup.testing.ts'

// Thousands of questions are played: on a busy machine that takes longer than the usual limit.
vi.setConfig({ testTimeout: 600_000 })

const dir = sharedData('kg')
const worldCup = path.join(dir, 'wc2014')

/** WC2014 as a data folder. */
function convertWorldCup(folder: string): void {
  const lines = (items: readonly string[]) => items.map((item) => `${item}\n`).join('')
  const triples = worldCupTriples(worldCup).map((triple) => triple.join('\t'))
  writeFileSync(path.join(folder, 'triples.tsv'), lines(triples))
  const questions = worldCupQuestions(worldCup).map((question) => JSON.stringify(question))
  writeFileSync(path.join(folder, 'questions.jsonl'), lines(questions))
}

// WorldCup2014 has no licence: it is never part of the project, and where it is missing nothing is compared.
describe.skipIf(!existsSync(worldCup))('WC2014', () => {
  let folder = ''
  let task: Task
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'perdure-kg-'))
    convertWorldCup(folder)
    task = await kg.open({ dataDir: folder })
  })
  afterAll(async () => {
    await task.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test.each([
    ['P2', 1472],
    ['C', 2208],
  ])('all questions of %s are solved by their gold relations through the tools', async (split, size) => {
    expect(task.warnings).toEqual([])
    expect(task.splits).toContainEqual({ name: split, size })
    const session = await task.create()
    const lost: string[] = []
    for (let index = 0; index < size; index++) {
      const instance = task.instanceAt(split, index)
      const demonstration = await task.demonstrate?.(instance)
      await session.reset(instance)
      let last: StepResult | undefined
      for (const action of demonstration?.actions ?? []) last = await session.step(action)
      if (last?.reward !== 1 || last.info.f1 !== 1) lost.push(instance)
    }
    expect(lost).toEqual([])
  })
})

const itemSchema = z.object({
  qid: z.string(),
  question: z.string(),
  entities: z.record(z.string(), z.string()),
  actions: z.array(z.string()),
})
type Item = z.infer<typeof itemSchema>

/** Items of AgentBench's two files, where they are. */
function agentBench(): Item[] {
  return ['agentbench_dev.json', 'agentbench_kg_rl_all.json'].flatMap((file) =>
    z.array(itemSchema).parse(JSON.parse(readFileSync(path.join(dir, file), 'utf8'))),
  )
}

describe.skipIf(!existsSync(path.join(dir, 'agentbench_dev.json')))('gold actions of AgentBench', () => {
  test('all 1,234 lists are read, and refer only to what is there', () => {
    const items = agentBench()
    expect(items).toHaveLength(1234)
    for (const { qid, actions, entities } of items) {
      const calls = parseActions(actions)
      expect(calls, qid).toHaveLength(actions.length)
      const starts = (calls ?? []).filter(({ tool }) => tool === 'get_neighbors').map(({ first }) => first)
      // A dozen lists start from the type common.topic, which no question names.
      const known = [...Object.values(entities), 'common.topic']
      for (const start of starts)
        expect(variableIndex(start) !== undefined || known.includes(start), `${qid}: ${start}`).toBe(true)
    }
  })

  test('all 1,234 lists are carried out by an endpoint that has what they ask for', async () => {
    const items = agentBench()
    const ontology = ontologyOf(items)
    const lost: string[] = []
    for (const item of items) {
      const { turtle, answer } = graphFor(item)
      const graph = openEndpoint({
        url: 'http://in.memory/sparql',
        namespace: freebase,
        timeoutMs: 60_000,
        maxRows: 1000,
        ontology,
        send: endpointOver(turtle),
      })
      const question: Question = {
        id: item.qid,
        text: item.question,
        entities: new Map(Object.entries(item.entities)),
        answers: new Set([answer]),
        gold: parseActions(item.actions),
      }
      const session = createSession({
        graph,
        openInstance: () => question,
        systemPrompt: '',
        wording: officialWording,
        callsPerMessage: 30,
      })
      await session.reset(item.qid)
      let last: StepResult | undefined
      for (const action of goldMessages(question) ?? []) {
        last = await session.step(action)
        if (last.invalid === true) lost.push(`${item.qid}: ${last.messages[0]?.content}`)
      }
      if (last?.reward !== 1) lost.push(item.qid)
      await graph.close()
    }
    expect(lost).toEqual([])
  })
})

/** An ontology of the relations and attributes in the lists, all of them leading to one type. */
function ontologyOf(items: readonly Item[]): Ontology {
  const calls = items.flatMap(({ actions }) => actions.flatMap((action) => parseAction(action) ?? []))
  const named = (...tools: string[]) =>
    calls.filter(({ tool }) => tools.includes(tool)).map(({ second }) => second)
  const relations = named('get_neighbors')
  return {
    relations: new Set(relations),
    attributes: new Set(named('argmax', 'argmin')),
    types: new Map(relations.map((relation) => [relation, 'common.topic'])),
  }
}

/** An endpoint in memory, without a socket: thousands of queries are asked. */
function endpointOver(turtle: string): NonNullable<EndpointOptions['send']> {
  const store = new Store()
  store.load(turtle, { format: 'text/turtle' })
  return async (request) => {
    const { searchParams } = new URL(request.url)
    const form = request.method === 'POST' ? new URLSearchParams(await request.text()) : searchParams
    const results = store.query(form.get('query') ?? '', { results_format: 'json' })
    return new Response(String(results))
  }
}

const freebase = 'http://rdf.freebase.com/ns/'

/**
 * A graph in which a list of actions finds exactly one member at each variable: a node for each, one node for
 * two that are intersected.
 */
function graphFor({ actions }: Item): { turtle: string; answer: string } {
  const nodes: string[] = []
  const renamed = new Map<string, string>()
  const nodeOf = (argument: string): string => {
    let node = nodes[variableIndex(argument) ?? -1] ?? argument
    for (let to = renamed.get(node); to !== undefined; to = renamed.get(node)) node = to
    return node
  }
  const triples: (() => string)[] = []
  const iri = (name: string) => `<${freebase}${name}>`
  for (const action of actions) {
    const call = parseAction(action)
    if (call === undefined || !makesVariable(call)) continue
    const { tool, first, second } = call
    if (tool === 'get_neighbors') {
      const node = `m.n${nodes.length}`
      const from = nodeOf(first)
      triples.push(() => `${iri(nodeOf(from))} ${iri(second)} ${iri(nodeOf(node))} .`)
      nodes.push(node)
    } else if (tool === 'intersection') {
      const [left, right] = [nodeOf(first), nodeOf(second)]
      if (left !== right) renamed.set(right, left)
      nodes.push(left)
    } else if (tool === 'count') nodes.push('1')
    else {
      const node = nodeOf(first)
      triples.push(() => `${iri(nodeOf(node))} ${iri(second)} 7 .`)
      nodes.push(node)
    }
  }
  return { turtle: triples.map((line) => line()).join('\n'), answer: nodeOf(`#${nodes.length - 1}`) }
}
