import { describe, expect, it } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import { runId } from '../../identity/identity.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { temporaryHome } from '../../test/support/perdure-process.ts'
import { measureExperts } from './experts.ts'

const run = runId('measured')
const config = configSchema.parse({
  tasks: [{ task: 'counting', turnLimit: 3 }],
  evaluation: {
    suites: [
      { name: 'held_out', task: 'counting', split: 'test', episodes: 6 },
      { name: 'many', task: 'counting', split: 'test', episodes: 1000 },
    ],
  },
})
const action: AssistantMessage = { role: 'assistant', content: 'on', tool_calls: [] }

/** Instance i takes i turns; the expert finds no way where i is 2. */
function opened(asked: string[]) {
  const task = {
    splits: [{ name: 'test', size: 6 }],
    instanceAt: (_: string, index: number) => String(index % 6),
    create: () => Promise.reject(new Error('the expert plays for itself')),
    async demonstrate(instance: string) {
      asked.push(instance)
      return instance === '2' ? undefined : { instance, actions: Array(Number(instance)).fill(action) }
    },
    close: async () => undefined,
  }
  return { run, config, task: async () => ({ definition: { turnLimit: 9 }, task }) } as never
}

describe('the expert of a suite', () => {
  // [EXPERTS-1]
  it('wins where it ends within the turns of the policy, and is measured once', async () => {
    await using store = await openStore(homeAt(temporaryHome()).storeFile)
    const asked: string[] = []
    const signal = new AbortController().signal
    const reported: string[] = []
    const onProgress = (done: number, total: number) => reported.push(`${done}/${total}`)
    await measureExperts(opened(asked), store.experts, { onProgress, signal })
    // It wins 0, 1 and 3 of 0, 1, 2, 3, 4, 5; of a suite of a thousand the first three hundred are played.
    expect(await store.experts.list(run)).toEqual([
      { suite: 'held_out', success: 0.5, n: 6 },
      { suite: 'many', success: 0.5, n: 300 },
    ])
    expect(reported.at(-1)).toBe('306/306')
    expect(asked.slice(0, 6).toSorted()).toEqual(['0', '1', '2', '3', '4', '5'])
    await measureExperts(opened(asked), store.experts, { onProgress, signal })
    expect(asked).toHaveLength(306)
  })

  it('is not looked for in a task that has none, and ends when it is cancelled', async () => {
    await using store = await openStore(homeAt(temporaryHome()).storeFile)
    const onProgress = () => undefined
    const cancelled = AbortSignal.abort(new Error('stopped'))
    await expect(
      measureExperts(opened([]), store.experts, { onProgress, signal: cancelled }),
    ).rejects.toThrow('stopped')
    const without = {
      run,
      config,
      task: async () => ({ definition: { turnLimit: 9 }, task: { splits: [{ name: 'test', size: 6 }] } }),
    }
    await measureExperts(without as never, store.experts, {
      onProgress,
      signal: new AbortController().signal,
    })
    expect(await store.experts.list(run)).toEqual([])
  })
})
