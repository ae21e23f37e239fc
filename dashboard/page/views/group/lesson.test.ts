import { expect, test } from 'vitest'
import { lessonSentence, updateFact } from './lesson.ts'

test('only a group that taught its update something is said to be learnt from', () => {
  expect([updateFact('learnt'), lessonSentence('learnt')]).toEqual([
    'Learnt by',
    ' The update learnt from them.',
  ])
  expect([updateFact('nothing_learnt'), lessonSentence('nothing_learnt')]).toEqual([
    'Played for',
    ' The update learnt nothing from them.',
  ])
  expect(updateFact('not_kept')).toBe('Played for')
  expect(lessonSentence(undefined)).toBe('')
})
