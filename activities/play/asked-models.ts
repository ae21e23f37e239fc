/**
 * Asked models: the judge and the user of an environment as durable steps of its episode.
 *
 * Invariants
 * - [ASKED-1] An answer is stored under (episode, turn, role, number) before the environment has it, and is never asked for again.
 * - [ASKED-2] The first answer that is stored is that of all who ask at once; in one process only one of them asks.
 * - [ASKED-3] An answer that cannot be read is a fault, which is counted and reported; the question is asked again with another seed,
 *   as often as is configured for all attempts together.
 * - [ASKED-4] A question that fails fails its call, whatever the environment made of the fault: it becomes no reward.
 * - [ASKED-5] Another question at the place of a stored one is refused by name: the environment is not deterministic.
 * - [ASKED-6] Every fault is stored with its kind, and reported as work that fails until the question is answered.
 * - [ASKED-7] The draws of a model follow from the question's place and the unreadable answers before it. So a question that is asked
 *   again after another fault, or by a new attempt of a synchronous run, is the same request.
 */
import type { AskedModelConfig } from '../../config/schema/asked-model-schema.ts'
import {
  type Ask,
  AskedModelFault,
  type AskedRole,
  messagesOf,
  type Question,
  questionHash,
  readAnswer,
} from '../../envs/contract/question.ts'
import {
  drawnAs,
  type EpisodeId,
  episodeId,
  parseEpisodeId,
  type RunId,
  seedOfWork,
} from '../../identity/identity.ts'
import { isSynchronous } from '../../learning/rollout/admission.ts'
import { clock } from '../../machine/services/clock.ts'
import type { ChatAnswer } from '../../policy/served/chat-endpoint.ts'
import type { Store } from '../../storage/store.ts'
import type { AnswerCost, AnswerFault, StoredAnswer } from '../../storage/trajectories/answers.ts'
import type { FailureReports } from '../calls/failure-reports.ts'
import { type Asked, answerFrom, type SourceDependencies, sourceOf } from './asked-sources.ts'
import { callInProgress } from './call-in-progress.ts'

/** The episode whose environment asks. */
export interface AskingEpisode {
  readonly run: RunId
  readonly episode: EpisodeId
  readonly taskIndex: number
}

/** The questions of one session. */
export interface SessionQuestions {
  readonly ask: Ask
  /** Does a call of the session, whose questions are those of the turn. @throws AskedModelFault of a question that failed */
  during<T>(turn: number, work: () => Promise<T>): Promise<T>
}

export type AskedModels = ReturnType<typeof createAskedModels>

interface Dependencies extends SourceDependencies {
  readonly store: Pick<Store, 'runs' | 'answers'>
  readonly reports: Pick<FailureReports, 'failed' | 'succeeded'>
}

/** A call of a session in progress. */
interface SessionCall {
  readonly turn: number
  readonly signal: AbortSignal
  /** Questions so far, by role. */
  readonly asked: Record<AskedRole, number>
  readonly open: Set<Promise<unknown>>
  /** The first of a question. */
  fault?: unknown
}

/** A question at its place. */
interface PlacedQuestion extends Omit<Asked, 'try' | 'seed' | 'temperature'> {
  readonly runSeed: number
  /** Whether all attempts at a sample draw alike. */
  readonly attemptsDrawAlike: boolean
  readonly hash: string
  /** @throws AskedModelFault `bad_answer` */
  readonly check: (text: string) => unknown
}

export function createAskedModels(dependencies: Dependencies) {
  const answerOnce = createAnswering(dependencies)

  async function answer<Value>(
    asking: AskingEpisode,
    call: SessionCall,
    role: AskedRole,
    question: Question<Value>,
  ): Promise<Value> {
    const { run, episode, taskIndex } = asking
    const { turn, signal } = call
    const number = call.asked[role]++
    const { config } = await dependencies.runs.get(run)
    const task = config.tasks[taskIndex]
    const model = task?.[role]
    const configKey = `tasks.${taskIndex}.${role}`
    if (model === undefined)
      throw new AskedModelFault('not_configured', `${task?.task} asks a ${role}: configure \`${configKey}\``)
    const messages = messagesOf(question)
    const { text } = await answerOnce({
      ...{ run, key: { episode, turn, role, number }, model, configKey, messages, signal },
      ...{
        runSeed: config.seed,
        attemptsDrawAlike: isSynchronous(config.rollout),
        hash: questionHash(messages),
      },
      check: (said) => readAnswer(question, said),
    })
    return readAnswer(question, text)
  }

  return {
    /** The questions of an episode's session. */
    of(asking: AskingEpisode): SessionQuestions {
      let current: SessionCall | undefined
      const by =
        (role: AskedRole): Ask[AskedRole] =>
        async (question) => {
          const call = current
          if (call === undefined)
            throw new AskedModelFault(
              'not_in_call',
              `the ${role} is asked while no \`reset\` or \`step\` is in progress`,
            )
          const answering = answer(asking, call, role, question)
          call.open.add(answering)
          try {
            return await answering
          } catch (fault) {
            call.fault ??= fault
            throw fault
          }
        }
      return {
        ask: { judge: by('judge'), user: by('user') },
        async during(turn, work) {
          const { signal } = callInProgress()
          const call: SessionCall = { turn, signal, asked: { judge: 0, user: 0 }, open: new Set() }
          current = call
          try {
            const result = await work()
            await Promise.allSettled(call.open)
            if (call.fault !== undefined) throw call.fault
            return result
          } catch (error) {
            throw signal.aborted ? error : (call.fault ?? error)
          } finally {
            current = undefined
          }
        },
      }
    },
  }
}

/** Between two tries: a server that restarts refuses connections for a moment. */
const firstWaitMs = 200
const longestWaitMs = 5000

/** The least temperature after an unreadable answer, which a greedy model would repeat. */
const warmth = 0.5

/** Answers each question once. */
function createAnswering(dependencies: Dependencies) {
  const { store, reports } = dependencies
  const inProgress = new Map<string, Promise<unknown>>()

  /** @param unreadable answers before it, of all attempts that draw alike */
  async function tried(
    question: PlacedQuestion,
    { number, unreadable }: { readonly number: number; readonly unreadable: number },
  ): Promise<StoredAnswer | AskedModelFault> {
    const { key, run, runSeed, attemptsDrawAlike, model, messages, hash, check } = question
    const { episode, turn, role } = key
    const since = clock.monotonic()
    let said: ChatAnswer | undefined
    try {
      const drawing = drawnAs(episode, attemptsDrawAlike)
      const seed = seedOfWork(runSeed, drawing, 'answer', turn, role, key.number, unreadable)
      const temperature = unreadable === 0 ? model.temperature : Math.max(model.temperature, warmth)
      said = await answerFrom(dependencies, { ...question, temperature, try: number, seed })
      check(said.text)
      const { text, model: name } = said
      const cost = costOf(model, said, since)
      const answer = { ...key, hash, messages, source: sourceOf(model), model: name, text, ...cost }
      await store.answers.put({ ...answer, created: clock.now() })
      await reports.succeeded(run, role)
      // Another process may have been first.
      return await knownAnswer(question)
    } catch (cause) {
      if (!(cause instanceof AskedModelFault) || cause.kind === 'other_question') throw cause
      const reason = `${wordsOf(question)}: ${cause.kind}: ${cause.message}`
      const fault = { ...key, kind: cause.kind, reason, ...costOf(model, said, since), created: clock.now() }
      await store.answers.addFault(fault)
      await reports.failed(run, role, number + 1, reason)
      return new AskedModelFault(cause.kind, reason, { cause })
    }
  }

  /** @throws AskedModelFault where another question was answered there */
  async function storedAnswer({ key, hash, ...question }: PlacedQuestion): Promise<StoredAnswer | undefined> {
    const stored = await store.answers.get(key)
    if (stored === undefined || stored.hash === hash) return stored
    throw new AskedModelFault(
      'other_question',
      `${wordsOf({ ...question, key })}: other_question: it was asked something else before, so the environment is not deterministic; the episode cannot go on`,
    )
  }

  async function knownAnswer(question: PlacedQuestion): Promise<StoredAnswer> {
    const stored = await storedAnswer(question)
    if (stored === undefined) throw new RangeError(`the answer of ${nameOf(question)} is not in the store`)
    return stored
  }

  async function faultsAt(key: Asked['key']): Promise<readonly AnswerFault[]> {
    return (await store.answers.faults(key.episode)).filter((fault) => isAt(key, fault))
  }

  /** Unreadable answers to the question in the earlier attempts at the sample. */
  async function unreadableBefore(key: Asked['key']): Promise<number> {
    const { parent, sample, attempt } = parseEpisodeId(key.episode)
    let found = 0
    for (let each = 0; each < attempt; each++)
      found += unreadableIn(await faultsAt({ ...key, episode: episodeId(parent, sample, each) }))
    return found
  }

  /** Tries until there is an answer, or no try is left. */
  async function asked(question: PlacedQuestion): Promise<StoredAnswer> {
    const { key, model, attemptsDrawAlike, signal } = question
    const before = await faultsAt(key)
    let unreadable = unreadableIn(before)
    const earlier = attemptsDrawAlike ? await unreadableBefore(key) : 0
    for (let tries = 1; ; tries++) {
      signal.throwIfAborted()
      const number = before.length + tries - 1
      const result = await tried(question, { number, unreadable: earlier + unreadable })
      if (!(result instanceof AskedModelFault)) return result
      if (result.kind === 'bad_answer') unreadable += 1
      else if (result.permanent) throw result
      if (unreadable >= model.tries || tries >= model.tries) throw result
      if (result.kind === 'bad_answer') continue
      await clock.sleep(Math.min(firstWaitMs * 3 ** (tries - 1), longestWaitMs), { signal })
    }
  }

  return async (question: PlacedQuestion): Promise<StoredAnswer> => {
    const name = nameOf(question)
    for (;;) {
      const stored = await storedAnswer(question)
      if (stored !== undefined) return stored
      const other = inProgress.get(name)
      if (other === undefined) break
      // A question that was given up leaves no answer.
      await other.catch(() => undefined)
    }
    const answering = asked(question)
    inProgress.set(name, answering)
    try {
      return await answering
    } finally {
      inProgress.delete(name)
    }
  }
}

function costOf(
  { promptPrice, completionPrice }: AskedModelConfig,
  said: ChatAnswer | undefined,
  since: number,
): AnswerCost {
  const { promptTokens = null, completionTokens = null } = said ?? {}
  const cost = ((promptTokens ?? 0) * promptPrice + (completionTokens ?? 0) * completionPrice) / 1e6
  return { promptTokens, completionTokens, cost, seconds: (clock.monotonic() - since) / 1000 }
}

function unreadableIn(faults: readonly AnswerFault[]): number {
  return faults.filter(({ kind }) => kind === 'bad_answer').length
}

function isAt({ turn, role, number }: Asked['key'], fault: AnswerFault): boolean {
  return fault.turn === turn && fault.role === role && fault.number === number
}

function nameOf({ key: { episode, turn, role, number } }: Pick<Asked, 'key'>): string {
  return `${episode} ${turn} ${role} ${number}`
}

function wordsOf({ key, model }: Pick<Asked, 'key' | 'model'>): string {
  const { episode, turn, role, number } = key
  return `question ${number} of turn ${turn} of ${episode} to the ${role} (${sourceOf(model)})`
}
