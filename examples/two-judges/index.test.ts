/** The two judges; `npx perdure env test` runs it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AssistantMessage, answeredBy } from 'perdure'
import { judging, naming } from './index.ts'

const task = await naming.open({})
const verdict = (text: string) => JSON.stringify({ name: 'judge', arguments: { verdict: text } })

/** Names a word on an instance, judged by a model that gives the same answer to every question. */
async function name(instance: string, word: string, answer: string) {
  const asked: string[] = []
  const session = await task.create(
    answeredBy({
      judge(messages) {
        asked.push(messages.map(({ content }) => content).join())
        return answer
      },
    }),
  )
  const action: AssistantMessage = {
    ...{ role: 'assistant', content: '' },
    tool_calls: [{ name: 'name', arguments: { word } }],
  }
  const [first] = (await session.reset(instance)).messages
  const { reward, info } = await session.step(action)
  return { reward, info, asked, prompt: first?.content }
}

test('the verdict of the model pays, and the agreement with the rule is measured', async () => {
  for (const index of Array.from({ length: 20 }).keys()) {
    const instance = task.instanceAt('train', index)
    const { prompt = '' } = await name(instance, 'cat', verdict('yes'))
    const isRight = prompt === 'name: animal'
    for (const word of ['yes', 'no']) {
      const { reward, info, asked } = await name(instance, 'cat', verdict(word))
      assert.equal(reward, word === 'yes' ? 1 : 0)
      assert.deepEqual(info, { right: Number(isRight), judges_agree: Number(isRight === (word === 'yes')) })
      assert.deepEqual(asked, [`${prompt.replace('name: ', '')}: cat?`])
    }
  }
})

test('an answer that is no verdict is no reward', async () => {
  const instance = task.instanceAt('train', 0)
  for (const answer of ['yes', verdict('maybe'), ''])
    await assert.rejects(() => name(instance, 'cat', answer), { name: 'AskedModelFault', kind: 'bad_answer' })
})

test('half of the problems for a judge are true, and an expert solves each', async () => {
  const problems = await judging.open({})
  const demonstrations = await Promise.all(
    Array.from({ length: 100 }, (_, index) => problems.demonstrate?.(problems.instanceAt('train', index))),
  )
  const verdicts = demonstrations.map((each) => each?.actions[0]?.tool_calls?.[0]?.arguments.verdict)
  assert.ok(demonstrations.every((each) => each?.reward === 1))
  const share = verdicts.filter((each) => each === 'yes').length / 100
  assert.ok(share > 0.35 && share < 0.65, `${share}`)
})
