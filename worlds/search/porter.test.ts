import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stem } from './porter.ts'

// Examples of Porter's paper, by step.
test.each(
  `caresses caress, ponies poni, cats cat, feed feed, agreed agre, plastered plaster, motoring motor, sing sing,
  conflated conflat, troubled troubl, sized size, hopping hop, falling fall, filing file, happy happi, sky sky,
  relational relat, conditional condit, vietnamization vietnam, formaliti formal, triplicate triplic,
  formalize formal, goodness good, revival reviv, allowance allow, adjustment adjust, adoption adopt,
  effective effect, probate probat, rate rate, cease ceas, controll control, roll roll, possibly possibl,
  technology technolog`
    .split(',')
    .map((pair) => pair.trim().split(' ')),
)('%s has the stem %s', (word, expected) => expect(stem(word ?? '')).toBe(expected))

test('words of one or two characters stay as they are', () => {
  for (const word of ['', 'a', 'is', 'by']) expect(stem(word)).toBe(word)
})

test('a stem is never longer than its word but by an e', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{0,14}(?:s|ed|ing|ational|ness|y)?$/), (word) => {
      expect(stem(word).length).toBeLessThanOrEqual(word.length)
    }),
  )
})
