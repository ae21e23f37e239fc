/**
 * The work of a durable run's main thread, by layer, from samples of its stack.
 *
 * Invariants
 * - A sample belongs to the innermost function on its stack whose file tells a layer.
 * - Shares are of the time in which the thread computed.
 */
import { type Profiler, Session } from 'node:inspector/promises'

/** Sampled this often while it computes, in microseconds. */
const interval = 500

/** In this order: the first that a file's address fits. */
const layers: readonly (readonly [layer: string, address: RegExp])[] = [
  ['storage', /\/storage\/|\/kysely\/|node:sqlite/],
  ['environments', /\/(envs|worlds)\//],
  ['chat and tokens', /\/policy\/(calls|chat|templates|tokenizer)\//],
  ['engine and trainer, calls', /\/policy\/|\/machine\//],
  ['activities', /\/activities\/|\/workers\//],
  [
    'Temporal: activations, encoding',
    /@temporalio|protobufjs|\/(contract|workflows)\/|\/temporal\/|\/telemetry\//,
  ],
]

/** Layer of what is in no file of a layer. */
const other = 'Node and the rest'

/** @returns by layer, the share of the computing time while the work was done */
export async function sharesOfMainThread(work: () => Promise<void>): Promise<ReadonlyMap<string, number>> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval })
    await session.post('Profiler.start')
    await work()
    const { profile } = await session.post('Profiler.stop')
    return sharesOf(profile)
  } finally {
    session.disconnect()
  }
}

function sharesOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): ReadonlyMap<string, number> {
  const layerOfNode = layersOf(nodes)
  const times = new Map<string, number>()
  let total = 0
  for (const [index, node] of samples.entries()) {
    const layer = layerOfNode.get(node)
    const time = Math.max(0, timeDeltas[index + 1] ?? 0)
    if (layer === undefined) continue
    times.set(layer, (times.get(layer) ?? 0) + time)
    total += time
  }
  return new Map([...times].map(([layer, time]) => [layer, time / total]))
}

/** The layer of each node of the call tree; idle ones have none. */
function layersOf(nodes: readonly Profiler.ProfileNode[]): ReadonlyMap<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const found = new Map<number, string>()
  const visit = (node: Profiler.ProfileNode, around: string): void => {
    const { functionName, url } = node.callFrame
    const own = layers.find(([, address]) => address.test(url))?.[0]
    const layer = functionName === '(garbage collector)' ? 'garbage collection' : (own ?? around)
    if (functionName !== '(idle)') found.set(node.id, layer)
    for (const child of node.children ?? []) {
      const below = byId.get(child)
      if (below !== undefined) visit(below, layer)
    }
  }
  const [root] = nodes
  if (root !== undefined) visit(root, other)
  return found
}
