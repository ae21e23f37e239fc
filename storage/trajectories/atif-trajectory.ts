/**
 * An episode in ATIF, the Agent Trajectory Interchange Format of Harbor, version 1.7: messages of the environment are steps of system
 * and user, an action is a step of the agent with the answers to its calls.
 *
 * Invariants
 * - [ATIF-1] An action has the tokens that were sampled and their log-probabilities, never those of a text that was tokenized again.
 * - [ATIF-2] Steps count from 1. The answer to a call names it, in the order of the calls; any other answer of a tool names none.
 */
import type { Message } from '../../messages/message.ts'
import { shortestFloat32 } from '../tables/codec.ts'
import type { SampledTurn, Trajectory } from './trajectory.ts'

interface AtifCall {
  readonly tool_call_id: string
  readonly function_name: string
  readonly arguments: object
}

interface AtifStep {
  readonly step_id: number
  readonly source: 'system' | 'user' | 'agent'
  readonly message: string
  readonly model_name?: string
  readonly llm_call_count?: 1
  readonly tool_calls?: readonly AtifCall[]
  observation?: { readonly results: { readonly source_call_id?: string; readonly content: string }[] }
  readonly metrics?: object
  readonly extra?: object
}

/** @param update step of the update that consumed the episode's group, null for none @param by version of Perdure */
export function atifTrajectory(trajectory: Trajectory, update: number | null, by: string): object {
  const { episode, messages, turns } = trajectory
  const { seal, run, task, instance } = episode
  const steps: AtifStep[] = []
  let turn = 0
  for (const message of messages) {
    const step_id = steps.length + 1
    if (message.role === 'assistant') {
      const sampled = turns[turn]
      if (sampled !== undefined) steps.push({ step_id, ...agentStep(message, turn, sampled, trajectory) })
      turn += 1
    } else if (message.role !== 'tool')
      steps.push({ step_id, source: message.role, message: message.content })
    else answer(steps.at(-1), message.content)
  }
  // The format knows no empty trajectory: an environment may fail before its first message.
  if (steps.length === 0) steps.push({ step_id: 1, source: 'system', message: 'No turn was begun.' })
  return {
    schema_version: 'ATIF-v1.7',
    session_id: run,
    trajectory_id: episode.id,
    agent: { name: 'perdure', version: by, model_name: run },
    steps,
    final_metrics: {
      total_prompt_tokens: turns.reduce((sum, { begin }) => sum + begin, 0),
      total_completion_tokens: seal.actionTokens,
      total_steps: steps.length,
    },
    extra: { task, instance, outcome: seal.outcome, reward: seal.reward, update },
  }
}

function agentStep(
  { content, tool_calls = [] }: Extract<Message, { role: 'assistant' }>,
  turn: number,
  { version, begin, end, paid }: SampledTurn,
  { episode, tokens, logprobs }: Trajectory,
): Omit<AtifStep, 'step_id'> {
  return {
    source: 'agent',
    model_name: `${episode.run}@${version}`,
    llm_call_count: 1,
    message: content,
    ...(tool_calls.length > 0 && {
      tool_calls: tool_calls.map(({ name, arguments: given }, index) => ({
        tool_call_id: `call_${turn}_${index}`,
        function_name: name,
        arguments: given,
      })),
    }),
    metrics: {
      prompt_tokens: begin,
      completion_tokens: end - begin,
      completion_token_ids: Array.from(tokens.subarray(begin, end)),
      logprobs: Array.from(logprobs.subarray(begin, end), shortestFloat32),
    },
    extra: { reward: paid },
  }
}

/** Adds the answer of a tool to the step that called it. */
function answer(step: AtifStep | undefined, content: string): void {
  if (step === undefined) return
  step.observation ??= { results: [] }
  const { results } = step.observation
  const call = step.tool_calls?.[results.length]
  results.push({ ...(call && { source_call_id: call.tool_call_id }), content })
}
