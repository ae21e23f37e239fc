import { expect, it } from 'vitest'
import { episodeId, groupId, runId } from '../../identity/identity.ts'
import type { Message } from '../../messages/message.ts'
import { atifTrajectory } from './atif-trajectory.ts'
import type { Trajectory } from './trajectory.ts'

const run = runId('demo')

function played(messages: readonly Message[], turns: Trajectory['turns'] = []): Trajectory {
  const id = episodeId(groupId(run, 0), 1, 0)
  const seal = { outcome: 'completed', reward: 0.5, turns: turns.length, actionTokens: 3 }
  return {
    episode: { id, run, task: 'db', instance: 'q', seal } as never,
    tokens: Int32Array.of(1, 2, 7, 8, 3, 9),
    lossMask: Uint8Array.of(0, 0, 1, 1, 0, 1),
    logprobs: Float32Array.of(0, 0, -0.1, -0.2, 0, -0.3),
    versions: Int32Array.of(-1, -1, 4, 4, -1, 5),
    turns,
    ...{ paid: 0.5, unusable: 0, cutOff: 0, messages },
  }
}

const sql = { name: 'sql', arguments: { query: 'select 1' } }

// [ATIF-1] [ATIF-2]
it('an episode has a step for each message, and the answers of tools in the step that called them', () => {
  const messages: Message[] = [
    { role: 'system', content: 'Answer.' },
    { role: 'user', content: 'How many?' },
    { role: 'assistant', content: 'Well.', tool_calls: [sql, sql] },
    ...[1, 2, 3].map((content): Message => ({ role: 'tool', name: 'sql', content: String(content) })),
    { role: 'assistant', content: 'One.' },
    { role: 'user', content: 'Thanks.' },
  ]
  const turns = [
    { version: 4, begin: 2, end: 4, paid: 0 },
    { version: 5, begin: 5, end: 6, paid: 0.5 },
  ]
  const call = (index: number) => ({
    ...{ tool_call_id: `call_0_${index}`, function_name: 'sql', arguments: { query: 'select 1' } },
  })
  expect(atifTrajectory(played(messages, turns), 3, '0.1.0')).toEqual({
    ...{ schema_version: 'ATIF-v1.7', session_id: 'demo', trajectory_id: 'demo/g0/s1/a0' },
    agent: { name: 'perdure', version: '0.1.0', model_name: 'demo' },
    steps: [
      { step_id: 1, source: 'system', message: 'Answer.' },
      { step_id: 2, source: 'user', message: 'How many?' },
      {
        ...{ step_id: 3, source: 'agent', message: 'Well.', model_name: 'demo@4', llm_call_count: 1 },
        tool_calls: [call(0), call(1)],
        observation: {
          results: [
            { source_call_id: 'call_0_0', content: '1' },
            { source_call_id: 'call_0_1', content: '2' },
            { content: '3' },
          ],
        },
        metrics: {
          ...{ prompt_tokens: 2, completion_tokens: 2, completion_token_ids: [7, 8] },
          logprobs: [expect.closeTo(-0.1, 6), expect.closeTo(-0.2, 6)],
        },
        extra: { reward: 0 },
      },
      {
        ...{ step_id: 4, source: 'agent', message: 'One.', model_name: 'demo@5', llm_call_count: 1 },
        metrics: {
          ...{ prompt_tokens: 5, completion_tokens: 1, completion_token_ids: [9] },
          logprobs: [expect.closeTo(-0.3, 6)],
        },
        extra: { reward: 0.5 },
      },
      { step_id: 5, source: 'user', message: 'Thanks.' },
    ],
    final_metrics: { total_prompt_tokens: 7, total_completion_tokens: 3, total_steps: 5 },
    extra: { task: 'db', instance: 'q', outcome: 'completed', reward: 0.5, update: 3 },
  })
})

it('an episode that never began has a step that says so', () => {
  expect(atifTrajectory(played([]), null, '0.1.0')).toMatchObject({
    steps: [{ step_id: 1, source: 'system', message: 'No turn was begun.' }],
  })
})
