/**
 * The knowledge graph task: questions over a folder's triples, over an endpoint, or over the built-in graph.
 *
 * Invariants
 * - All of them are answered with the same tools, under the same rules.
 * - Questions without a graph that could answer them are refused when the task is opened.
 */
import {
  type EnvironmentDefinition,
  EnvironmentFault,
  type InstanceId,
  type Task,
  type TaskOptions,
} from '../contract/environment.ts'
import type { Library } from '../contract/library.ts'
import { goldMessages } from './actions.ts'
import { readQuestions, readTriples } from './dataset.ts'
import { openEmbeddedGraph } from './graph/embedded.ts'
import { openEndpoint } from './graph/endpoint.ts'
import type { KnowledgeGraph } from './graph/graph.ts'
import { readOntology } from './graph/ontology.ts'
import { isSafeName } from './graph/sparql.ts'
import { openLibrary, type Question } from './library.ts'
import { createSession } from './question-session.ts'
import { type KgSettings, readSettings } from './settings.ts'
import { officialWording, shortWording, systemPrompt, type Wording } from './wording.ts'
import { openGeneratedQuestions } from './world/generator.ts'
import { openWorldGraph } from './world/world.ts'

// A message of many calls may keep an endpoint busy; a single query has a deadline of its own.
const stepTimeoutSeconds = 300
// A question has 15 turns; twice that in one message is no plan any more.
const mostCalls = 30

export const kg: EnvironmentDefinition = {
  name: 'kg',
  summary: 'Questions over a knowledge graph, answered step by step with seven tools.',
  source:
    'AgentBench knowledgegraph (github.com/THUDM/AgentBench) with a SPARQL endpoint, or a folder of triples; without them questions over world-countries',
  licence: 'Apache-2.0 (AgentBench); world-countries ODbL-1.0; built-in questions Apache-2.0',
  reward: '1 when the answer is exactly the right set, else 0',
  replayable: true,
  replayableBecause: 'the graph is only read: the same calls find the same sets',
  turnLimit: 15,
  metrics: { f1: { unit: 'of 1', better: 'higher' } },
  stepTimeoutSeconds,
  open: openKg,
}

async function openKg({ dataDir, settings: given }: TaskOptions): Promise<Task> {
  const settings = readSettings(given)
  if (dataDir !== undefined) return openFolder(dataDir, settings)
  if (settings.endpoint !== undefined)
    throw new EnvironmentFault(
      'bad_settings',
      'settings of kg: an endpoint needs questions: give the data folder that has them',
    )
  const world = await openWorldGraph()
  return openTask(world.graph, openGeneratedQuestions(world, settings), shortWording, settings)
}

async function openFolder(dir: string, settings: KgSettings): Promise<Task> {
  const data = await readQuestions(dir)
  const { endpoint: url } = settings
  if (url !== undefined) {
    const { namespace, timeoutMs, maxRows } = settings
    const { splits, warnings } = withSafeEntities(data.splits)
    const ontology = await readOntology(dir)
    const graph = openEndpoint({ url, namespace, timeoutMs, maxRows, ontology })
    const task = openTask(graph, openLibrary(splits), officialWording, settings)
    return { ...task, warnings: [...data.warnings, ...warnings] }
  }
  if (!data.hasTriples)
    throw new EnvironmentFault(
      'bad_settings',
      `settings of kg: the questions in ${dir} are asked of a SPARQL endpoint, e.g. Virtuoso with Freebase: set "endpoint" to its URL. Without one a folder needs triples.tsv with questions.jsonl`,
    )
  const { triples, types, warnings } = await readTriples(dir)
  const graph = await openEmbeddedGraph(triples, types)
  const task = openTask(graph, openLibrary(data.splits), officialWording, settings)
  return { ...task, warnings: [...data.warnings, ...warnings] }
}

function openTask(
  graph: KnowledgeGraph,
  library: Library<Question>,
  wording: Wording,
  { prompt, endpoint, timeoutMs }: KgSettings,
): Task {
  // A call is two queries at most: so many are over before the step counts as hung, however slow they are.
  const inTime = Math.max(1, Math.floor((stepTimeoutSeconds * 1000) / (2 * timeoutMs)))
  const callsPerMessage = endpoint === undefined ? mostCalls : Math.min(mostCalls, inTime)
  const create = async () =>
    createSession({
      graph,
      openInstance: library.open,
      systemPrompt: systemPrompt(prompt),
      wording,
      callsPerMessage,
    })
  return {
    splits: library.splits,
    instanceAt: library.instanceAt,
    create,
    async demonstrate(instance: InstanceId) {
      const actions = goldMessages(library.open(instance))
      if (actions === undefined) return undefined
      // Gold that the given graph does not support teaches nothing.
      const session = await create()
      await session.reset(instance)
      let reward = 0
      for (const action of actions) reward += (await session.step(action)).reward
      return reward === 1 ? { instance, actions } : undefined
    },
    close: () => graph.close(),
  }
}

/** Questions whose entities can be asked for. */
function withSafeEntities(splits: ReadonlyMap<string, readonly Question[]>) {
  const warnings: string[] = []
  const safe = [...splits].map(([split, questions]) => {
    const usable = questions.filter(({ id, entities }) => {
      const unsafe = [...entities.values()].find((entity) => !isSafeName(entity))
      if (unsafe !== undefined) warnings.push(`kg data: ${id}: no IRI can end in "${unsafe.slice(0, 80)}"`)
      return unsafe === undefined
    })
    return [split, usable] as const
  })
  return { splits: new Map(safe.filter(([, questions]) => questions.length > 0)), warnings }
}
