import { expect, it } from 'vitest'
import { contentText, nothingToRead, observedText } from './observed-text.ts'

// [OBSERVED-1]
it('one text is itself; anything more is JSON without metadata and nulls', () => {
  expect(observedText({ text: 'higher', hint: null, metadata: { seed: 7 } })).toBe('higher')
  expect(observedText('higher')).toBe('higher')
  expect(observedText({ board: [1, null], of: { turn: 2, winner: null, metadata: {} } })).toBe(
    '{"board":[1,null],"of":{"turn":2}}',
  )
  expect(observedText({ n: 3 })).toBe('{"n":3}')
  for (const empty of [{ metadata: {} }, {}, null, undefined, '', { text: null }])
    expect(observedText(empty)).toBe(nothingToRead)
})

// [OBSERVED-2]
it('what no text can carry is named', () => {
  expect(observedText({ screen: 'data:image/png;base64,AAAA', step: 1 })).toBe(
    '{"screen":"[image image/png]","step":1}',
  )
  expect(
    contentText([
      { type: 'text', text: 'Look:' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
      { type: 'resource', resource: { uri: 'a.txt', text: 'inside' } },
      { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,AA' } },
      { type: 'audio' },
    ]),
  ).toBe('Look:\n[image image/png]\ninside\n[image_url image/jpeg]\n[audio]')
})
