/**
 * Rules between the fields of a configuration.
 *
 * Invariants
 * - Pure: the same configuration gives the same complaints, in the order of the fields.
 * - Each complaint names the key that a user would change, and the values that would be allowed.
 */
import { imitatesAlone } from '../../learning/algorithms/imitation.ts'
import { epo } from '../../learning/algorithms/losses/epo.ts'
import { dropBounds } from '../../learning/evaluation/gate.ts'
import { isPlayable, playableWords } from '../../learning/rollout/task-mix.ts'
import { boundsInWords, isWithin } from '../../learning/run/bounds.ts'
import { engineNames, hasServers } from './engine-name.ts'
import type { RunConfig } from './schema.ts'

/** Two fields that do not fit each other. */
export interface Contradiction {
  /** The place of the complaint, as keys and list indices. */
  readonly path: readonly (string | number)[]
  readonly value: string | number
  /** The allowed values, worded to follow "expected". */
  readonly message: string
}

/** All contradictions of a configuration whose single fields are valid. */
export function contradictions(config: RunConfig): readonly Contradiction[] {
  return [
    ...ofTasks(config),
    ...ofAskedModels(config),
    ...ofRollout(config),
    ...ofLearning(config),
    ...ofEngine(config),
    ...ofAdapter(config),
    ...ofPolicy(config),
    ...ofSuites(config),
    ...ofGates(config),
  ]
}

function ofTasks({ tasks, learning }: RunConfig): Contradiction[] {
  const penalty = learning.notCompletedPenalty
  const tooLow = tasks.findIndex(
    ({ success, notCompleted }) => notCompleted === 'penalty' && success.atLeast <= penalty,
  )
  if (tooLow !== -1)
    return [
      {
        path: ['tasks', tooLow, 'success', 'atLeast'],
        value: tasks[tooLow]?.success.atLeast ?? 0,
        message: `more than learning.notCompletedPenalty (${penalty}), or notCompleted: keep`,
      },
    ]
  if (!isPlayable(tasks.map(({ weight }) => weight)))
    return [{ path: ['tasks', 0, 'weight'], value: 0, message: playableWords }]
  return tasks.flatMap(({ task }, index) =>
    tasks.findIndex((other) => other.task === task) === index
      ? []
      : [
          {
            path: ['tasks', index, 'task'],
            value: task,
            message: 'each task only once; give one entry its whole weight',
          },
        ],
  )
}

/** Keys of an asked model by where it is. */
const keysOfPlace = { policy: ['version'], endpoint: ['model', 'apiKey'] } as const

function ofAskedModels({ tasks }: RunConfig): Contradiction[] {
  return tasks.flatMap((task, index) =>
    (['judge', 'user'] as const).flatMap((role): Contradiction[] => {
      const model = task[role]
      if (model === undefined) return []
      const path = ['tasks', index, role]
      const isPolicy = model.from === 'policy'
      if (!isPolicy && model.model === undefined)
        return [
          { path: [...path, 'model'], value: '', message: `the name of a model that ${model.from} serves` },
        ]
      const others = keysOfPlace[isPolicy ? 'endpoint' : 'policy']
      return others
        .filter((key) => model[key] !== undefined)
        .map((key) => ({
          path: [...path, key],
          value: key === 'apiKey' ? '…' : (model[key] ?? ''),
          message: `nothing where \`from\` is ${isPolicy ? 'policy' : 'an endpoint'}`,
        }))
    }),
  )
}

function ofRollout({ rollout, policy, warmStart }: RunConfig): Contradiction[] {
  const found: Contradiction[] = []
  if (rollout.quorum !== undefined && rollout.quorum > rollout.groupSize)
    found.push({
      path: ['rollout', 'quorum'],
      value: rollout.quorum,
      message: `at most rollout.groupSize (${rollout.groupSize})`,
    })
  if (rollout.maxTokensPerTurn >= policy.contextLength)
    found.push({
      path: ['rollout', 'maxTokensPerTurn'],
      value: rollout.maxTokensPerTurn,
      message: `less than policy.contextLength (${policy.contextLength})`,
    })
  if (warmStart.demonstrations > 0 && warmStart.chunks > warmStart.demonstrations)
    found.push({
      path: ['warmStart', 'chunks'],
      value: warmStart.chunks,
      message: `at most warmStart.demonstrations (${warmStart.demonstrations})`,
    })
  if (warmStart.corrections >= warmStart.chunks)
    found.push({
      path: ['warmStart', 'corrections'],
      value: warmStart.corrections,
      message: `less than warmStart.chunks (${warmStart.chunks})`,
    })
  return found
}

function ofLearning({ learning, tasks }: RunConfig): Contradiction[] {
  const found: Contradiction[] = []
  const isSmoothed = [learning.algorithm, ...tasks.map(({ objective }) => objective)].includes(epo.name)
  if (isSmoothed && learning.entropyCoefficient === 0 && learning.entropyTarget === undefined)
    found.push({
      path: ['learning', 'entropyCoefficient'],
      value: 0,
      message: 'more than 0, or learning.entropyTarget, for `epo`, which bounds the entropy bonus',
    })
  for (const [index, { objective }] of tasks.entries()) {
    if (objective === undefined) continue
    const complain = (message: string) =>
      found.push({ path: ['tasks', index, 'objective'], value: objective, message })
    if (imitatesAlone(learning))
      complain('nothing where `learning.algorithm` is imitation, which has no policy loss')
    else if (imitatesAlone({ algorithm: objective }))
      complain('another algorithm or a module: a run imitates alone as a whole, by `learning.algorithm`')
  }
  return found
}

function ofEngine({ policy: { engine, engineUrl } }: RunConfig): Contradiction[] {
  if (hasServers(engine) && engineUrl === undefined)
    return [
      {
        path: ['policy', 'engineUrl'],
        value: '',
        message: `the address of the ${engine} server, e.g. http://127.0.0.1:8080`,
      },
    ]
  if (engine !== 'embedded' || engineUrl === undefined) return []
  return [
    {
      path: ['policy', 'engineUrl'],
      value: [engineUrl].flat().join(', '),
      message: `nothing where policy.engine is embedded; set policy.engine to what serves there, ${engineNames.filter(hasServers).join(', ')}`,
    },
  ]
}

function ofAdapter({ policy: { lora } }: RunConfig): Contradiction[] {
  return (lora?.targets ?? []).flatMap((target, index, targets) =>
    targets.indexOf(target) === index
      ? []
      : [
          {
            path: ['policy', 'lora', 'targets', index],
            value: target,
            message: 'each matrix only once',
          },
        ],
  )
}

function ofPolicy({ policy }: RunConfig): Contradiction[] {
  // A checkpoint brings its own shape.
  if (policy.from !== undefined) return []
  const found: Contradiction[] = []
  if (policy.hiddenSize % (2 * policy.heads) !== 0)
    found.push({
      path: ['policy', 'hiddenSize'],
      value: policy.hiddenSize,
      message: `a multiple of 2 × policy.heads (${2 * policy.heads}), because rotary positions turn pairs`,
    })
  if (policy.heads % policy.keyValueHeads !== 0)
    found.push({
      path: ['policy', 'keyValueHeads'],
      value: policy.keyValueHeads,
      message: `a divisor of policy.heads (${policy.heads})`,
    })
  return found
}

function ofSuites({ tasks, evaluation: { suites } }: RunConfig): Contradiction[] {
  const names = tasks.map(({ task }) => task)
  return suites.flatMap(({ name, task, samples, temperature }, index) => {
    const found: Contradiction[] = []
    if (suites.findIndex((other) => other.name === name) !== index)
      found.push({ path: ['evaluation', 'suites', index, 'name'], value: name, message: 'a name of its own' })
    if (!names.includes(task))
      found.push({
        path: ['evaluation', 'suites', index, 'task'],
        value: task,
        message: `a task that \`tasks\` lists: ${names.join(', ')}`,
      })
    if (samples > 1 && temperature === 0)
      found.push({
        path: ['evaluation', 'suites', index, 'temperature'],
        value: temperature,
        message: 'a number above 0 where an instance has several samples: greedy ones would all be the same',
      })
    return found
  })
}

function ofGates({ evaluation: { suites, gates } }: RunConfig): Contradiction[] {
  const names = suites.map(({ name }) => name)
  return gates.flatMap(({ suite, drop }, index): Contradiction[] => {
    const judged = suites.find(({ name }) => name === suite)
    const path = ['evaluation', 'gates', index]
    if (judged === undefined) {
      const message = `a suite that \`evaluation.suites\` lists: ${names.join(', ') || 'none'}`
      return [{ path: [...path, 'suite'], value: suite, message }]
    }
    const bounds = dropBounds(judged.measure.of)
    if (isWithin(bounds, drop)) return []
    return [{ path: [...path, 'drop'], value: drop, message: boundsInWords(bounds) }]
  })
}
