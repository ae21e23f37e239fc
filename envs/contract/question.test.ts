import { expect, it } from 'vitest'
import { z } from 'zod'
import { answeredBy, questionHash, readAnswer, unasked } from './question.ts'

const yesOrNo = (text: string): boolean => {
  if (text !== 'yes' && text !== 'no') throw new RangeError('say yes or no')
  return text === 'yes'
}

// [ASK-1]
it('an answer is read by a function, by a schema of its JSON, or as it is; what cannot be read is refused with its text', () => {
  const schema = z.object({ mark: z.int() }).transform(({ mark }) => mark)
  expect(readAnswer({ read: yesOrNo }, 'no')).toBe(false)
  expect(readAnswer({ read: schema }, '{"mark":3}')).toBe(3)
  expect(readAnswer({}, 'as it is')).toBe('as it is')
  for (const [read, text] of [
    [yesOrNo, 'maybe'],
    [schema, '{"mark":"three"}'],
    [schema, 'three'],
  ] as const)
    expect(() => readAnswer<unknown>({ read }, text)).toThrow(
      expect.objectContaining({
        ...{ name: 'AskedModelFault', kind: 'bad_answer', permanent: true },
        message: expect.stringContaining(JSON.stringify(text)),
      }),
    )
})

// [ASK-2]
it('where no model is asked the answer is the one for that, also a false one, or the question is refused by name', async () => {
  expect(await unasked.judge({ messages: 'Good?', read: yesOrNo, otherwise: false })).toBe(false)
  await expect(unasked.user({ messages: 'Speak.' })).rejects.toMatchObject({ kind: 'not_configured' })
})

it('a test of an environment answers in place of a model, and its answers are read like those of one', async () => {
  const ask = answeredBy({ judge: ([message]) => (message?.content === 'Good?' ? 'yes' : 'what?') })
  expect(await ask.judge({ messages: 'Good?', read: yesOrNo })).toBe(true)
  await expect(ask.judge({ messages: 'Bad?', read: yesOrNo })).rejects.toMatchObject({ kind: 'bad_answer' })
  await expect(ask.user({ messages: 'Speak.' })).rejects.toMatchObject({ kind: 'not_configured' })
})

it('questions with other words or other roles have other names', () => {
  const names = [
    [{ role: 'user', content: 'a' }],
    [{ role: 'system', content: 'a' }],
    [{ role: 'user', content: 'b' }],
    [
      { role: 'user', content: 'a' },
      { role: 'user', content: 'a' },
    ],
  ].map((messages) => questionHash(messages as never))
  expect(new Set(names).size).toBe(4)
})
