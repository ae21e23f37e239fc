/**
 * Sampling activities: one action of one turn.
 *
 * Invariants
 * - A turn is sampled once: its tokens are stored under (episode, turn), and a second attempt finds them.
 * - Token in, token out: the context is the very tokens of the earlier turns, never a text tokenized again.
 * - [SAMPLING-1] The stored version is the one that sampled, token by token where there were several, and the logprobs are its own.
 * - [SAMPLING-2] A turn that names its version, as an evaluation's does, is sampled from that version or fails.
 * - Evaluations and branches yield to training: their turns are sampled in the background.
 * - A turn that is cancelled, or whose time is up, ends at the engine too.
 * - [SAMPLING-3] An observation that does not fit costs no more time than one that does: all episodes share the thread.
 * - Whatever the policy writes becomes a stored action with its problems; it never ends the process.
 * - They are a cache over the store: a context that is missing, or at another turn, is read again.
 * - The cache is bounded; the least recently extended contexts go first.
 */
import { type EpisodeId, type RunId, yieldsToTraining } from '../../identity/identity.ts'
import { actionSummary } from '../../messages/action-summary.ts'
import { grownContext } from '../../policy/chat/chat.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import type { Store } from '../../storage/store.ts'
import type { EpisodeContext, StoredAction } from '../../storage/trajectories/actions.ts'
import { failing } from '../calls/failure.ts'
import type { OpenRuns } from '../stored/open-runs.ts'
import { callInProgress, timed } from './call-in-progress.ts'
import type { Serving } from './serving.ts'

export interface SampleRequest {
  readonly episode: EpisodeId
  readonly run: RunId
  readonly turn: number
  readonly version: number | 'current'
  readonly temperature: number
  readonly maxTokens: number
  /** 32-bit seed of the draws. */
  readonly seed: number
}

export type SampleResult =
  | {
      readonly kind: 'sampled'
      readonly version: number
      readonly tokens: number
      /** The action in a few words. */
      readonly summary: string
    }
  /** The next action does not fit into the policy's context. */
  | { readonly kind: 'context_full' }

interface Dependencies {
  readonly store: Store
  readonly runs: OpenRuns
  readonly serving: Pick<Serving, 'chat' | 'sample'>
}

export type SamplingActivities = ReturnType<typeof createSamplingActivities>

/** Contexts: the tokens of the episodes in progress, in memory. */
interface Contexts {
  /** All tokens before the observation of the turn. */
  at(episode: EpisodeId, turn: number): Promise<EpisodeContext>
  /** Remembers the context after the action of the turn. @param context what the action was sampled after */
  extend(episode: EpisodeId, turn: number, context: EpisodeContext, action: Int32Array): void
}

export function createSamplingActivities({ store, runs, serving }: Dependencies) {
  const contexts = createContexts(store)

  return failing({
    async sampleAction(request: SampleRequest): Promise<SampleResult> {
      const { episode, run, turn } = request
      const stored = await store.actions.get(episode, turn)
      if (stored !== undefined) return resultOf(stored)
      const chat = await serving.chat(run)
      const observation = await store.observations.get(episode, turn)
      if (observation === undefined)
        throw new StorageFault('missing', `observation ${turn} of ${episode} is not stored yet`)
      const { tokens: before, borders } = await contexts.at(episode, turn)
      const { config } = await runs.get(run)
      const room = config.policy.contextLength - before.length - request.maxTokens
      const prompt = chat.encodeTurnWithin(room, before, observation.messages, observation.tools)
      if (prompt === undefined) return { kind: 'context_full' }
      const version = request.version === 'current' ? await currentVersion(run) : request.version
      const context = grownContext(before, prompt)
      const { signal, attempt } = callInProgress()
      const asked = {
        id: `${episode}/t${turn}-${attempt}`,
        cacheKey: episode,
        context,
        borders,
        version,
        exactVersion: request.version !== 'current',
        maxNewTokens: request.maxTokens,
        temperature: request.temperature,
        stopTokens: chat.stopTokens,
        seed: request.seed,
        background: yieldsToTraining(episode),
      }
      const { result: sampled, took } = await timed(() => serving.sample(run, asked, signal))
      const { message, problems } = chat.parseAction(sampled.tokens)
      const { tokens, logprobs, spans, finish } = sampled
      const action = {
        episode,
        turn,
        prompt,
        tokens,
        logprobs,
        version: sampled.version,
        ...(spans === undefined ? {} : { spans }),
        finish,
        message,
        problems,
      }
      if ((await store.actions.put(action, took)) === 'already') {
        const first = await store.actions.get(episode, turn)
        return resultOf(first ?? action)
      }
      contexts.extend(episode, turn, { tokens: context, borders }, tokens)
      return resultOf(action)
    },
  })

  async function currentVersion(run: RunId): Promise<number> {
    const version = await store.runs.version(run)
    if (version === undefined) throw new StorageFault('missing', `run ${run} has not published a version yet`)
    return version
  }
}

function resultOf({ version, tokens, message }: StoredAction): SampleResult {
  return { kind: 'sampled', version, tokens: tokens.length, summary: actionSummary(message) }
}

/** Far above the episodes that one worker plays at once. */
const capacity = 4096

function createContexts(store: Pick<Store, 'actions'>): Contexts {
  const known = new Map<EpisodeId, EpisodeContext & { readonly turns: number }>()

  return {
    async at(episode, turn) {
      if (turn === 0) return { tokens: new Int32Array(0), borders: [] }
      const cached = known.get(episode)
      return cached !== undefined && cached.turns === turn ? cached : await store.actions.context(episode)
    },

    extend(episode, turn, context, action) {
      const tokens = grownContext(context.tokens, action)
      known.delete(episode)
      known.set(episode, { turns: turn + 1, tokens, borders: [...context.borders, context.tokens.length] })
      for (const oldest of known.keys()) {
        if (known.size <= capacity) break
        known.delete(oldest)
      }
    },
  }
}
