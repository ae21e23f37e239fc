import { describe, expect, test } from 'vitest'
import { gradients } from './differentiation.ts'
import { Graph, GraphFault, nothingOutput, type Value } from './graph.ts'
import { distinctRows, linear, logProbabilities, rmsNorm, swiGlu } from './operations.ts'
import { createInferenceSession, RuntimeFault, type Tensor, tensor } from './runtime.ts'

function affine(): Graph {
  const graph = new Graph()
  const x = graph.input('x', ['rows', 2])
  graph.output('y', graph.operation('Add', [x, graph.scalar(1)], ['rows', 2]))
  return graph
}

async function run(graph: Graph, feeds: Record<string, Tensor>): Promise<Readonly<Record<string, Tensor>>> {
  const session = await createInferenceSession(graph.encode(), { threads: 1 })
  try {
    return await session.run(feeds)
  } finally {
    await session.release()
  }
}

function floats(values: readonly number[], ...dims: readonly number[]): Tensor<'float32'> {
  return tensor('float32', Float32Array.from(values), dims)
}

function text(model: Uint8Array): string {
  return Buffer.from(model).toString('latin1')
}

describe('Graph', () => {
  test('the same calls give the same bytes', () => {
    expect(affine().encode()).toEqual(affine().encode())
  })

  test('equal constants are stored once', () => {
    const graph = new Graph()
    expect(graph.integers(1, 2)).toBe(graph.integers(1, 2))
    expect(graph.scalar(1)).not.toBe(graph.scalar(2))
  })

  test('a name given to an output costs no copy', () => {
    expect(text(affine().encode())).not.toContain('Identity')
  })

  test('an input, and a value with two names, can be outputs too', async () => {
    const graph = new Graph()
    const x = graph.input('x', [2])
    const y = graph.operation('Neg', [x], [2])
    graph.output('same', x)
    graph.output('once', y)
    graph.output('twice', y)
    const results = await run(graph, { x: floats([1, 2], 2) })
    expect(results.same?.data).toEqual(Float32Array.of(1, 2))
    expect(results.once?.data).toEqual(Float32Array.of(-1, -2))
    expect(results.twice?.data).toEqual(Float32Array.of(-1, -2))
  })

  test('an inner graph is repeated with the states of the run before, and sees the values around it [GRAPH-1]', async () => {
    const graph = new Graph()
    const count = graph.input('count', [], { type: 'int64' })
    const step = graph.input('step', [1])
    const [sum, seen] = graph.repeat(
      count,
      [graph.constant('float32', [1], [10]), graph.constant('float32', [0], [])],
      (inner, turn, [sum, seen]) => {
        const number = inner.operation('Cast', [turn], [], { attributes: { to: 1 } })
        const factor = inner.input('factor', [1])
        const scaled = inner.operation('Mul', [inner.operation('Mul', [step, factor], [1]), number], [1])
        const next = inner.operation('Add', [sum, scaled], [1])
        return [next, inner.operation('Concat', [seen, next], ['turns'], { attributes: { axis: 0 } })]
      },
      (_, name, dims) => graph.input(name, dims),
    )
    graph.output('sum', sum as Value)
    graph.output('seen', seen as Value)
    const results = await run(graph, {
      count: tensor('int64', BigInt64Array.of(3n), []),
      step: floats([2], 1),
      factor: floats([3], 1),
    })
    // 10 + 2·3·(0 + 1 + 2)
    expect(results.sum?.data).toEqual(Float32Array.of(28))
    expect(results.seen?.data).toEqual(Float32Array.of(10, 16, 28))
  })

  test('a graph that returns nothing writes into the given arrays, also into one that is fed', async () => {
    const graph = new Graph()
    const x = graph.input('x', ['rows', 2])
    const places = graph.input('places', ['few', 1], { type: 'int64' })
    const updates = graph.input('updates', ['few', 2])
    graph.output('y', graph.operation('ScatterND', [x, places, updates], x.dims))
    graph.output('z', graph.operation('Neg', [updates], updates.dims))
    graph.returnNothing()
    const session = await createInferenceSession(graph.encode(), { threads: 1 })
    const fed = floats([1, 2, 3, 4, 5, 6], 3, 2)
    const negative = floats([0, 0], 1, 2)
    const feeds = {
      x: fed,
      places: tensor('int64', BigInt64Array.of(1n), [1, 1]),
      updates: floats([7, 8], 1, 2),
    }
    await session.write(feeds, { [nothingOutput]: null, y: fed, z: negative })
    expect(fed.data).toEqual(Float32Array.of(1, 2, 7, 8, 5, 6))
    expect(negative.data).toEqual(Float32Array.of(-7, -8))
    const outside = { ...feeds, places: tensor('int64', BigInt64Array.of(9n), [1, 1]) }
    await expect(session.write(outside, { [nothingOutput]: null, y: fed, z: negative })).rejects.toThrow(
      RuntimeFault,
    )
    await session.release()
  })

  test('a stored tensor takes part like a constant, under a name of its own', async () => {
    const graph = new Graph()
    const x = graph.input('x', [2])
    graph.output('y', graph.operation('Add', [x, graph.stored('w', [2], Float32Array.of(3, 4))], [2]))
    expect(() => graph.stored('w', [1], Float32Array.of(1))).toThrow(GraphFault)
    expect((await run(graph, { x: floats([1, 2], 2) })).y?.data).toEqual(Float32Array.of(4, 6))
  })

  test('a name taken twice is refused', () => {
    const graph = affine()
    expect(() => graph.input('x', [1])).toThrow(GraphFault)
    expect(() => graph.output('y', graph.scalar(1))).toThrow(GraphFault)
  })
})

describe('runtime', () => {
  test('an output given as a tensor is written in place', async () => {
    const session = await createInferenceSession(affine().encode(), { threads: 1 })
    const y = floats([0, 0], 1, 2)
    await session.run({ x: floats([1, 2], 1, 2) }, { y })
    expect(y.data).toEqual(Float32Array.of(2, 3))
    await session.release()
  })

  test('a model or a run that the runtime refuses is a fault that says so', async () => {
    await expect(createInferenceSession(Uint8Array.of(1, 2, 3), { threads: 1 })).rejects.toThrow(RuntimeFault)
    const session = await createInferenceSession(affine().encode(), { threads: 1 })
    await expect(session.run({ x: floats([1], 1) })).rejects.toMatchObject({
      name: 'RuntimeFault',
      kind: 'run',
    })
    await session.release()
  })
})

describe('gradients', () => {
  test('the gradients of a value used twice are added', async () => {
    // y = W₂(W₁ x), z = y + W₁ x through linear's addend: dz/d(W₁x) = W₂ᵀ·1 + 1
    const graph = new Graph()
    const x = graph.input('x', [1, 1])
    const first = graph.input('first', [1, 1], { differentiate: true })
    const second = graph.input('second', [1, 1], { differentiate: true })
    const h = linear(graph, x, first)
    const z = linear(graph, h, second, h)
    const gradientOf = gradients(graph, [[z, graph.constant('float32', [1, 1], [1])]])
    graph.output('dFirst', gradientOf(first))
    graph.output('dSecond', gradientOf(second))
    const results = await run(graph, {
      x: floats([3], 1, 1),
      first: floats([2], 1, 1),
      second: floats([5], 1, 1),
    })
    expect(results.dFirst?.data[0]).toBe(3 * (5 + 1))
    expect(results.dSecond?.data[0]).toBe(3 * 2)
  })

  test('a gradient that is begun has its beginning in it once [ADDING-1]', async () => {
    // y = x W + v W + W W: dW = x + v + 2 W, added to by products and by the walk
    const graph = new Graph()
    const w = graph.input('w', [1, 1], { differentiate: true })
    const y = linear(graph, graph.input('v', [1, 1]), w, linear(graph, graph.input('x', [1, 1]), w))
    const squared = linear(graph, w, w, y)
    const begun = new Map([['w', graph.constant('float32', [1, 1], [100])]])
    graph.output('dw', gradients(graph, [[squared, graph.constant('float32', [1, 1], [1])]], begun)(w))
    const results = await run(graph, {
      x: floats([3], 1, 1),
      v: floats([4], 1, 1),
      w: floats([5], 1, 1),
    })
    expect(results.dw?.data[0]).toBe(100 + 3 + 4 + 2 * 5)
  })

  test('a value that no gradient reaches is named although its gradient is begun', () => {
    const graph = new Graph()
    const w = graph.input('w', [1, 1], { differentiate: true })
    const begun = new Map([['w', graph.constant('float32', [1, 1], [100])]])
    expect(() => gradients(graph, [], begun)(w)).toThrow('no gradient reaches "w"')
  })

  test('a record that no seed reaches adds no operators', () => {
    const graph = new Graph()
    const w = graph.input('w', [1, 1], { differentiate: true })
    const y = linear(graph, w, w)
    swiGlu(graph, y, y)
    const before = text(graph.encode()).match(/Mul/g)?.length
    gradients(graph, [[y, graph.constant('float32', [1, 1], [1])]])
    expect(text(graph.encode()).match(/Mul/g)?.length).toBe(before)
  })

  test('a value that no gradient reaches is named', () => {
    const graph = new Graph()
    const w = graph.input('w', [1, 1], { differentiate: true })
    expect(() => gradients(graph, [])(w)).toThrow('no gradient reaches "w"')
  })
})

describe('operations', () => {
  test('rmsNorm divides by the root of the mean square plus epsilon', async () => {
    const graph = new Graph()
    graph.output('y', rmsNorm(graph, graph.input('x', [1, 2]), graph.input('w', [2]), 0.5))
    const { y } = await run(graph, { x: floats([1, 3], 1, 2), w: floats([1, 2], 2) })
    // √((1 + 9) / 2 + 0.5) = √5.5
    expect(y?.data[0]).toBeCloseTo(1 / Math.sqrt(5.5), 6)
    expect(y?.data[1]).toBeCloseTo(6 / Math.sqrt(5.5), 6)
  })

  test('logProbabilities gives the logarithm of the softmax and its entropy', async () => {
    const graph = new Graph()
    const targets = graph.input('targets', [1], { type: 'int64' })
    const { chosen, entropy } = logProbabilities(graph, graph.input('logits', [1, 2]), targets)
    graph.output('chosen', chosen)
    graph.output('entropy', entropy)
    const feeds = {
      logits: floats([Math.log(3), 0], 1, 2),
      targets: tensor('int64', BigInt64Array.of(0n), [1]),
    }
    const results = await run(graph, feeds)
    // p = (3/4, 1/4)
    expect(results.chosen?.data[0]).toBeCloseTo(Math.log(0.75), 6)
    expect(results.entropy?.data[0]).toBeCloseTo(-0.75 * Math.log(0.75) - 0.25 * Math.log(0.25), 6)
  })

  test('rows that were not chosen get no gradient', async () => {
    const graph = new Graph()
    const x = graph.input('x', ['rows', 1], { differentiate: true })
    const y = distinctRows(graph, x, graph.input('indices', [1], { type: 'int64' }))
    graph.output('dx', gradients(graph, [[y, graph.constant('float32', [1, 1], [7])]])(x))
    const feeds = { x: floats([1, 2, 3], 3, 1), indices: tensor('int64', BigInt64Array.of(1n), [1]) }
    expect((await run(graph, feeds)).dx?.data).toEqual(Float32Array.of(0, 7, 0))
  })
})
