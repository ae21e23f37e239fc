/**
 * A program that speaks the trainer's protocol for tests, and breaks it in the way that its argument names.
 *
 * An update adds 0.5 to the first weight, so that a result is known by its numbers.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { type CheckpointContent, publishCheckpoint } from '../../checkpoints/checkpoint.ts'
import { readWithMoments } from '../../checkpoints/restoring.ts'

const [trick = 'good', notes = ''] = process.argv.slice(2)
const statistics = {
  loss: 1,
  kl: 0,
  referenceKl: 0,
  entropy: 2,
  clipFraction: 0,
  gradientNorm: 0.5,
  actionTokens: 3,
  tokens: 4,
}

function say(line: object | string): void {
  process.stdout.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`)
}

/** The changes of each trick to the checkpoint that it writes. */
const changes: Readonly<Record<string, (content: CheckpointContent) => CheckpointContent>> = {
  nan: (content) => changed(content, (weight) => weight.fill(Number.NaN)),
  'other-version': (content) => ({ ...content, state: { ...content.state, version: 99 } }),
  'no-step': (content) => ({ ...content, state: { ...content.state, step: 0 } }),
  'other-tokenizer': (content) => ({ ...content, tokenizer: '{"other": 1}' }),
  'other-statistics': (content) => ({
    ...content,
    state: { ...content.state, facts: { statistics: { loss: 1 } } },
  }),
}

function changed(content: CheckpointContent, change: (weight: Float32Array) => void): CheckpointContent {
  const weights = new Map([...content.weights].map(([name, weight]) => [name, weight.slice()]))
  const [first] = weights.values()
  if (first !== undefined) change(first)
  return { ...content, weights }
}

interface Update {
  readonly fromCheckpointDir: string
  readonly toCheckpointDir: string
  readonly version: number
}

async function update({ fromCheckpointDir, toCheckpointDir, version }: Update): Promise<void> {
  const before = await readWithMoments(fromCheckpointDir)
  const after: CheckpointContent = changed(
    {
      ...before,
      state: {
        ...before.state,
        version,
        step: before.state.step + 1,
        facts: { statistics, objective: 'policy' },
      },
    },
    (weight) => {
      weight[0] = (weight[0] ?? 0) + 0.5
    },
  )
  if (trick === 'nothing-written') return
  await publishCheckpoint(toCheckpointDir, changes[trick]?.(after) ?? after)
  if (trick === 'damaged') writeFileSync(`${toCheckpointDir}/model.safetensors`, 'short')
}

async function answer(id: number, params: Update): Promise<void> {
  if (trick === 'dies') process.exit(3)
  if (trick === 'dies-once' && !existsSync(`${notes}.died`)) {
    writeFileSync(`${notes}.died`, '')
    process.exit(3)
  }
  if (trick === 'hangs' || trick === 'still') {
    say({ id, progress: { done: 1, total: 5 } })
    // The same again tells nothing.
    if (trick === 'still') setInterval(() => say({ id, progress: { done: 1, total: 5 } }), 20)
    return
  }
  if (trick === 'garbage') return say('torch says hello')
  if (trick === 'beyond') return say({ id, progress: { done: 6, total: 5 } })
  if (trick === 'floods') {
    for (let i = 0; i < 40; i++) process.stdout.write('x'.repeat(1 << 20))
    return
  }
  if (trick === 'reports') return say({ id, error: { kind: 'exploded', message: 'the norm is 7' } })
  say({ id, progress: { done: 1, total: 2 } })
  await update(params)
  say({ id, progress: { done: 2, total: 2 } })
  if (trick === 'not-a-number') return say(`{"id":${id},"result":{"loss":NaN}}`)
  say({ id: trick === 'other-id' ? id + 7 : id, result: { ...statistics, seconds: 0.1 } })
  if (trick === 'twice') say({ id, result: { ...statistics, seconds: 0.1 } })
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (notes !== '') await appendFile(notes, `${process.pid} ${method}\n`)
  if (method === 'hello') {
    if (trick !== 'silent') say({ id, result: { methods: trick === 'other' ? ['fold'] : ['update'] } })
  } else await answer(id, params)
}
