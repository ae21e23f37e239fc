/**
 * The machine's peak of single-precision matrix products: the limit with which the policy's speed is compared.
 */
import { Graph } from '../policy/graph/graph.ts'
import { createInferenceSession, tensor } from '../policy/graph/runtime.ts'

/** Side of the matrices: large enough to hide overheads, small enough to run often. */
const side = 1024

/**
 * Billions of floating-point operations per second of a 1024³ product, the best of several runs.
 * @param threads threads of one product
 * @param milliseconds time to spend
 */
export async function gemmPeak(threads: number, milliseconds = 800): Promise<number> {
  const graph = new Graph()
  const left = graph.input('left', [side, side])
  const right = graph.input('right', [side, side])
  graph.output('product', graph.operation('MatMul', [left, right], [side, side]))
  const session = await createInferenceSession(graph.encode(), { threads })
  const matrix = tensor(
    'float32',
    Float32Array.from({ length: side * side }, (_, i) => Math.sin(i)),
    [side, side],
  )
  const feeds = { left: matrix, right: matrix }
  await session.run(feeds)
  let best = Number.POSITIVE_INFINITY
  const end = performance.now() + milliseconds
  while (performance.now() < end) {
    const startedAt = performance.now()
    await session.run(feeds)
    best = Math.min(best, performance.now() - startedAt)
  }
  await session.release()
  return (2 * side ** 3) / best / 1e6
}
