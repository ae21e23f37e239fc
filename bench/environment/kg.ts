/**
 * Tool calls per second of the knowledge graph task, beside the same calls as SPARQL in the same store.
 *
 * Invariants
 * - A call goes through the session, as an agent's would: read, carried out, worded.
 * - Every question must be answered right, else the benchmark fails.
 * - The reference answers each call by one query, in the process; it words nothing and remembers nothing.
 */
import { existsSync } from 'node:fs'
import { callsAlong, goldMessages } from '../../envs/kg/actions.ts'
import type { SetDerivation } from '../../envs/kg/graph/derivation.ts'
import { openEmbeddedGraph, type Triple } from '../../envs/kg/graph/embedded.ts'
import { QueryWriter } from '../../envs/kg/graph/sparql.ts'
import type { Question } from '../../envs/kg/library.ts'
import { createSession } from '../../envs/kg/question-session.ts'
import { officialWording } from '../../envs/kg/wording.ts'
import { worldCupQuestions, worldCupTriples } from '../../envs/kg/world-cup.testing.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { sharedData } from '../../test/support/shared-data.ts'
import type { Figure } from '../figure.ts'

/** Long enough that the clock and the compiler no longer matter. */
const measuredMs = 2000
const referenceQuestions = 200
const namespace = 'urn:kg:'

/** Measures on WC2014; without it there is nothing to measure. */
export async function bench(): Promise<Figure[]> {
  const dir = sharedData('kg', 'wc2014')
  if (!existsSync(dir)) {
    console.error(`no WC2014 in ${dir}: the knowledge graph is not measured`)
    return []
  }
  const triples = worldCupTriples(dir)
  const questions = worldCupQuestions(dir).map(
    ({ id, question: text, entities, relations, answers }): Question => ({
      id,
      text,
      entities: new Map(entities.map((name) => [name, name])),
      answers: new Set(answers),
      gold: callsAlong(entities.map((entity, at) => ({ entity, relations: relations[at] ?? [] }))),
    }),
  )
  const value = await toolCalls(triples, questions)
  const reference = await queries(triples, questions)
  return [{ name: 'kg tool calls/s', value, unit: 'calls/s', reference, ratio: value / reference }]
}

async function toolCalls(triples: readonly Triple[], questions: readonly Question[]): Promise<number> {
  const byId = new Map(questions.map((question) => [question.id, question]))
  const plays = questions.map((question) => ({ id: question.id, actions: goldMessages(question) ?? [] }))
  const session = createSession({
    graph: await openEmbeddedGraph(triples),
    openInstance: (id) => byId.get(id) ?? missing(id),
    systemPrompt: '',
    wording: officialWording,
    callsPerMessage: 30,
  })
  let calls = 0
  const started = performance.now()
  while (performance.now() - started < measuredMs)
    for (const { id, actions } of plays) {
      calls += actions.length
      await playRight(id, actions)
    }
  return (calls * 1000) / (performance.now() - started)

  async function playRight(id: string, actions: readonly AssistantMessage[]): Promise<void> {
    await session.reset(id)
    let reward = 0
    for (const action of actions) reward += (await session.step(action)).reward
    if (reward !== 1) throw new Error(`${id} was not solved`)
  }
}

/** The first questions' calls as queries; each second. */
async function queries(triples: readonly Triple[], questions: readonly Question[]): Promise<number> {
  const { Store, namedNode, quad } = await import('oxigraph')
  const node = (name: string) => namedNode(namespace + name)
  const store = new Store(triples.map(([from, relation, to]) => quad(node(from), node(relation), node(to))))
  const writer = new QueryWriter(namespace)
  const texts = questions.slice(0, referenceQuestions).flatMap(({ gold = [] }) => {
    const sets: SetDerivation[] = []
    const setOf = (name: string): SetDerivation =>
      sets[name.startsWith('#') ? Number(name.slice(1)) : -1] ?? { kind: 'entity', id: name }
    const asked = gold.map(({ tool, first, second }) => {
      if (tool === 'get_relations') return writer.relations(setOf(first), 1000)
      const left = setOf(first)
      const set: SetDerivation =
        tool === 'intersection'
          ? { kind: 'intersection', left, right: setOf(second) }
          : { kind: 'neighbors', of: left, relation: second }
      sets.push(set)
      return writer.members({ kind: 'count', of: set }, 1)
    })
    // The answer is a call as well.
    return [...asked, writer.members(sets.at(-1) ?? missing('an answer'), 1000)]
  })
  let asked = 0
  const started = performance.now()
  while (performance.now() - started < measuredMs)
    for (const text of texts) {
      store.query(text)
      asked++
    }
  return (asked * 1000) / (performance.now() - started)
}

function missing(what: string): never {
  throw new Error(`${what} is missing`)
}
