import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AnswerStream } from './answer-stream.ts'
import { frame } from './frame.testing.ts'
import { createFrameReader } from './shell-connection.ts'

const word = 'c0ffee'

function fed(bytes: Buffer, cuts: readonly number[], limit = 1e6): AnswerStream {
  const stream = new AnswerStream(word, limit)
  let from = 0
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const to = Math.min(cut, bytes.length)
    if (to <= from) continue
    stream.push(bytes.subarray(from, to))
    from = to
  }
  stream.push(bytes.subarray(from))
  return stream
}

describe('the answer of a command', () => {
  test('is found in whatever pieces it comes, and all before it is output', () => {
    // Texts that a command may print, among them beginnings of answers.
    const said = fc
      .array(
        fc.constantFrom('\n', word, ' ', `\n${word}`, `\n${word} `, `\n${word} 1 x\n`, 'a', '\n\n', '7 '),
      )
      .map((parts) => parts.join(''))
      .filter((text) => !/\nc0ffee \d+ \d+\n/.test(`${text}\n`))
    fc.assert(
      fc.property(said, fc.array(fc.nat(200)), fc.nat(255), (text, cuts, status) => {
        const answer = `\n${word} ${status} 3\n`
        const stream = fed(Buffer.from(`${text}${answer}late`), cuts)
        expect(stream.answer).toEqual({ status, interrupts: 3 })
        expect(stream.end().text).toBe(text)
      }),
    )
  })

  test('that never came leaves all that was said', () => {
    const stream = fed(Buffer.from(`begun\n${word} `), [3, 8])
    expect(stream.answer).toBeUndefined()
    expect(stream.end().text).toBe(`begun\n${word} `)
  })

  test('at most the limit is kept of any output, and that more came is reported', () => {
    const stream = fed(Buffer.from(`${'x'.repeat(5000)}\n${word} 0 0\n`), [1000, 4990, 5004], 100)
    const output = stream.end()
    expect(output.text).toBe('x'.repeat(100))
    expect([output.truncated, output.bytes]).toEqual([true, 5000])
    expect(stream.answer).toEqual({ status: 0, interrupts: 0 })
  })
})

test('frames are distinguished in whatever pieces they come', () => {
  const bytes = Buffer.concat([frame(1, 'out'), frame(2, 'wrong'), frame(1, ''), frame(1, ' more')])
  for (let size = 1; size <= bytes.length; size++) {
    const heard = { stdout: '', stderr: '' }
    const read = createFrameReader((stream, piece) => {
      heard[stream] += piece.toString()
    })
    for (let from = 0; from < bytes.length; from += size) read(bytes.subarray(from, from + size))
    expect(heard).toEqual({ stdout: 'out more', stderr: 'wrong' })
  }
})
