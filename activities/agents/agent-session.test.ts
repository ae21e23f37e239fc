import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { episodeId, groupId, runId } from '../../identity/identity.ts'
import { generateForm } from '../../policy/endpoint/forms/generate.ts'
import { countForm, messagesForm } from '../../policy/endpoint/forms/messages.ts'
import { responsesForm } from '../../policy/endpoint/forms/responses.ts'
import { openStore, type Store } from '../../storage/store.ts'
import {
  ask,
  encoder,
  messageIn,
  openSession,
  requestOf,
  type ScriptedSession,
} from './agent-session.testing.ts'

const episode = episodeId(groupId(runId('demo'), 0), 0, 0)
let dir: string
let store: Store

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-agent-'))
  store = await openStore(join(dir, 'store.db'))
  await store.episodes.insert({ id: episode, task: 'talk', instance: 'train/0', created: 0 })
})

afterEach(async () => {
  await store.close()
  rmSync(dir, { recursive: true, force: true })
})

const act = { type: 'function', name: 'act', parameters: { type: 'object' } }
const user = (content: string) => ({ role: 'user', content })

/** Plays turns that extend one another. @returns the messages, and the bodies of the answers */
async function converse(of: ScriptedSession, words: readonly string[], begun: readonly object[] = []) {
  const messages = [...begun]
  const bodies: string[] = []
  for (const word of words) {
    messages.push(user(word))
    bodies.push(await ask(of, messages))
    messages.push(messageIn(bodies.at(-1) ?? ''))
  }
  return { messages, bodies }
}

/** Places of the turns in the tree. */
async function places() {
  return (await store.actions.list(episode)).map(({ asked }) => [asked?.branch, asked?.follows])
}

// [AGENT-SESSION-2] [AGENT-SESSION-3]
it('a turn that extends another has its very tokens as context, and only the new messages are rendered', async () => {
  const encode = vi.spyOn(encoder.chat, 'encodeAssistantWithin')
  const of = await openSession(store, episode)
  await converse(of, ['look', 'take the lamp', 'go on'])
  const [first, second, third] = await store.actions.list(episode)
  const context = [...(first?.prompt ?? []), ...(first?.tokens ?? []), ...(second?.prompt ?? [])]
  expect(of.sampled[1]).toMatchObject({ context: Int32Array.from(context), temperature: 0.8, version: 3 })
  expect(second?.prompt).toEqual(
    encoder.chat.encodeTurn(first?.tokens ?? [], [{ role: 'user', content: 'take the lamp' }]),
  )
  expect(third?.asked).toMatchObject({ branch: 0, follows: 1 })
  expect(encode).not.toHaveBeenCalled()
  encode.mockRestore()
})

it('an answer is recognized with other white space around it, and the temperature of a request changes nothing', async () => {
  const of = await openSession(store, episode)
  const body = await ask(of, [user('look')])
  const changed = { role: 'assistant', content: `\n${messageIn(body).content} ` }
  await ask(of, [user('look'), changed, user('go on')], { temperature: 0.1 })
  expect(await places()).toEqual([
    [0, -1],
    [0, 0],
  ])
  expect(of.sampled.map(({ temperature }) => temperature)).toEqual([0.8, 0.8])
})

describe('branches', () => {
  // [TURN-TREE-1] [TURN-TREE-3]
  it('begin where a request does not extend the last turn, and share the turns before', async () => {
    const of = await openSession(store, episode)
    const { messages } = await converse(of, ['look', 'take the lamp'])
    await ask(of, [...messages.slice(0, 2), user('leave the lamp')])
    await ask(of, [{ role: 'system', content: 'Sum up.' }, user('all of it')])
    await ask(of, [...messages, user('go on')])
    expect(await places()).toEqual([
      [0, -1],
      [0, 0],
      [1, 0],
      [2, -1],
      [0, 1],
    ])
  })

  it('begin for the second of two requests that extend a turn at the same time', async () => {
    const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
    const of = await openSession(store, episode, {
      say: (count) => (count === 1 ? 'hello' : (gates[count - 2]?.promise ?? '')),
    })
    const { messages } = await converse(of, ['look'])
    const both = [ask(of, [...messages, user('left')]), ask(of, [...messages, user('right')])]
    gates[1]?.resolve('gone right')
    await both[1]
    gates[0]?.resolve('gone left')
    await both[0]
    expect(await places()).toEqual([
      [0, -1],
      [1, 0],
      [0, 0],
    ])
    expect(of.sampled.map(({ cacheKey }) => cacheKey)).toEqual([episode, episode, `${episode}#1`])
  })

  it('an answer that comes back in a shortened conversation keeps its tokens', async () => {
    const of = await openSession(store, episode)
    const { messages } = await converse(of, ['look', 'take the lamp'])
    const encode = vi.spyOn(encoder.chat, 'encodeAssistantWithin')
    await ask(of, [user('(shortened)'), ...messages.slice(3), user('go on')])
    expect(encode).not.toHaveBeenCalled()
    encode.mockRestore()
    const [, second, third] = await store.actions.list(episode)
    expect(third?.prompt.join()).toContain(second?.tokens.join())
    expect(third?.asked).toMatchObject({ branch: 1, follows: -1 })
  })
})

describe('after a restart', () => {
  // [AGENT-SESSION-1] [ACTION-2]
  it('equal requests get the recorded bytes without being sampled, and the next one continues', async () => {
    const before = await converse(await openSession(store, episode), ['look', 'take the lamp'])
    const again = await openSession(store, episode, { attempt: 2 })
    const after = await converse(again, ['look', 'take the lamp', 'go on'])
    expect(after.bodies.slice(0, 2)).toEqual(before.bodies)
    expect(again.sampled).toHaveLength(1)
    expect(await places()).toEqual([
      [0, -1],
      [0, 0],
      [0, 1],
    ])
  })

  it('a request whose first half alone was stored is sampled as if it was new', async () => {
    await converse(await openSession(store, episode), ['look'])
    const messages = [{ role: 'user', content: 'never asked' }] as const
    await store.observations.put({ episode, turn: 1, messages, reward: 0, done: false, info: {} })
    await converse(await openSession(store, episode), ['look', 'go on'])
    expect((await store.observations.get(episode, 1))?.messages).toEqual([user('go on')])
  })

  // [RESPONSES-1]
  it.each([false, true])(
    'a response is continued by the id that it had before, streamed: %s',
    async (stream) => {
      const body = (more: object) => ({ model: 'any', stream, tools: [act], ...more })
      const say = () => '<tool_call>{"name":"act","arguments":{"x":86.0}}</tool_call>'
      const first = await openSession(store, episode, { say })
      const form = responsesForm()
      const look = body({ input: 'look' })
      const answer = await first.session.answer(requestOf(look, form))
      const [id, call] = [/"(resp_\w+)"/.exec(answer)?.[1], /"(call_[0-9a-f]{24})"/.exec(answer)?.[1]]
      const output = { type: 'function_call_output', call_id: call, output: 'a lamp' }
      const next = body({ previous_response_id: id, input: [output] })
      const second = await first.session.answer(requestOf(next, form))
      const restarted = responsesForm()
      const again = await openSession(store, episode, { attempt: 2 })
      expect(() => requestOf(next, restarted)).toThrow('is not kept')
      expect(await again.session.answer(requestOf(look, restarted))).toBe(answer)
      expect(await again.session.answer(requestOf(next, restarted))).toBe(second)
      const third = body({ previous_response_id: /"(resp_\w+)"/.exec(second)?.[1], input: 'go on' })
      await again.session.answer(requestOf(third, restarted))
      expect(again.sampled).toHaveLength(1)
      expect(await places()).toEqual([
        [0, -1],
        [0, 0],
        [0, 1],
      ])
    },
  )

  // [TURN-TREE-2]
  it('a request that is another than the recorded one at its place ends the attempt as diverged, and says where', async () => {
    await converse(await openSession(store, episode), ['look', 'take the lamp'])
    const again = await openSession(store, episode)
    const { messages } = await converse(again, ['look'])
    await expect(ask(again, [...messages, user('leave it')])).rejects.toMatchObject({ kind: 'ended' })
    expect(await again.session.ended).toMatchObject({
      kind: 'fault',
      fault: {
        kind: 'diverged',
        message: expect.stringMatching(
          /turn 1 of branch 0 .*"take the lamp", now 1 new messages, the last "leave it"/,
        ),
      },
    })
    expect(again.sampled).toEqual([])
  })

  it('a request that extends the end of a branch continues it before the others are repeated', async () => {
    const begun = await converse(await openSession(store, episode), ['look'])
    const again = await openSession(store, episode)
    await ask(again, [...begun.messages, user('go on')])
    expect(await places()).toEqual([
      [0, -1],
      [0, 0],
    ])
  })

  it('the same request sent twice gets both recorded answers, in their order', async () => {
    const first = await openSession(store, episode)
    const bodies = [await ask(first, [user('look')]), await ask(first, [user('look')])]
    const again = await openSession(store, episode)
    expect([await ask(again, [user('look')]), await ask(again, [user('look')])]).toEqual(bodies)
    expect(bodies[0]).not.toBe(bodies[1])
  })
})

describe('limits', () => {
  it('the turn after the last one ends the episode, all branches together', async () => {
    const of = await openSession(store, episode, { limits: { turnLimit: 2 } })
    await ask(of, [user('look')])
    await ask(of, [user('something else')])
    await expect(ask(of, [user('a third')])).rejects.toMatchObject({ kind: 'ended' })
    expect(await of.session.ended).toEqual({ kind: 'turn_limit' })
  })

  it('a conversation that does not fit is refused by the words that agents know, and without end as the context limit', async () => {
    const of = await openSession(store, episode, { limits: { contextLength: 80 } })
    const long = [user('x'.repeat(400))]
    await expect(ask(of, long)).rejects.toMatchObject({
      kind: 'too_long',
      message: expect.stringContaining('maximum context length is 80'),
    })
    for (let tries = 1; tries < 50; tries++) await ask(of, long).catch(() => undefined)
    expect(await of.session.ended).toEqual({ kind: 'context_limit' })
  })

  it('requests that are refused again and again are a flood, without a reward', async () => {
    const of = await openSession(store, episode)
    for (let tries = 0; tries < 50; tries++) await ask(of, [user('look')], { n: 2 }).catch(() => undefined)
    expect(await of.session.ended).toMatchObject({ kind: 'fault', fault: { kind: 'flood' } })
  })

  it('beyond its tokens no turn is sampled', async () => {
    const of = await openSession(store, episode, { limits: { tokenLimit: 5 } })
    await ask(of, [user('look')])
    await expect(ask(of, [user('more')])).rejects.toMatchObject({ kind: 'ended' })
    expect(await of.session.ended).toEqual({ kind: 'token_limit' })
  })
})

// [AGENT-SESSION-4]
it('a failure of the engine ends the attempt with that failure, and stores nothing', async () => {
  const lost = new Error('the engine is gone')
  const of = await openSession(store, episode, { say: () => Promise.reject(lost) })
  await expect(ask(of, [user('look')])).rejects.toBe(lost)
  expect(await of.session.ended).toEqual({ kind: 'fault', fault: lost })
  expect(await store.actions.list(episode)).toEqual([])
})

it('forms may be mixed within an episode; token ids that begin with those of a turn extend it', async () => {
  const of = await openSession(store, episode)
  const answered = async (body: object, form = messagesForm) =>
    JSON.parse(await of.session.answer(requestOf(body, form)))
  const messages = [user('look')]
  const said = await answered({ model: 'any', max_tokens: 20, messages })
  await answered(
    {
      model: 'any',
      input: [user('look'), { role: 'assistant', content: said.content[0].text }, user('go on')],
    },
    responsesForm(),
  )
  const [first, second] = await store.actions.list(episode)
  const known = [first, second].flatMap((turn) => [...(turn?.prompt ?? []), ...(turn?.tokens ?? [])])
  const { choices } = await answered(
    { token_ids: [...known, 65, 66], sampling_params: { logprobs: 1 } },
    generateForm,
  )
  const [, , third] = await store.actions.list(episode)
  expect(await places()).toEqual([
    [0, -1],
    [0, 0],
    [0, 1],
  ])
  expect(third?.prompt).toEqual(Int32Array.of(65, 66))
  expect(choices[0].token_ids).toEqual([...(third?.tokens ?? [])])
  const counted = await answered({ model: 'any', messages }, countForm)
  expect(counted).toEqual({ input_tokens: first?.prompt.length })
  expect(await store.actions.list(episode)).toHaveLength(3)
})
