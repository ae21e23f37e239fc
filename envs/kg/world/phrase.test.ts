import { expect, test } from 'vitest'
import { asked, both, compared, counted, following, type Phrase } from './phrase.ts'

const france: Phrase = { text: 'France', one: true }

test('sets are said by how they were found, one thing otherwise than several', () => {
  const neighbours = following(france, 'borders')
  expect(asked(neighbours)).toBe('Which countries border France?')
  expect(counted(neighbours)).toBe('How many countries border France?')
  expect(asked(following(france, 'capital'))).toBe('What is the capital of France?')
  expect(asked(following(neighbours, 'capital'))).toBe(
    'What are the capitals of the countries that border France?',
  )
  const home = following({ text: 'Rome', one: true }, 'capital_of')
  expect(asked(following(home, 'language'))).toBe(
    'What are the languages of the country whose capital is Rome?',
  )
  expect(asked(following(neighbours, 'borders'))).toBe(
    'Which countries border any of the countries that border France?',
  )
})

test('what two sets of countries have in common is what their countries both do', () => {
  const german = following({ text: 'German', one: true }, 'spoken_in')
  const common = both(following(france, 'borders'), german)
  expect(common && asked(common)).toBe('Which countries border France and speak German?')
  expect(common && compared(common, 'area', 'argmin')).toBe(
    'Of the countries that border France and speak German, which has the smallest area?',
  )
  expect(both(german, following(france, 'language'))).toBeUndefined()
})
